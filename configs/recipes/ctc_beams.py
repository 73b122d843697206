"""Tunes alpha and beta of pyctcdecode. Run ctc_data.py first, or set these names yourself:

labels          the labels of your acoustic model
training_texts  the text that lm.arpa was made of
dev, test       for each recording an array (frames, labels) of natural logarithms
dev_texts, test_texts  what was said
"""

import math
import kenlm
import portmert
from pyctcdecode import build_ctcdecoder

words = sorted({word for line in training_texts for word in line.split()})
ctc, lm = build_ctcdecoder(labels, "lm.arpa", words), kenlm.Model("lm.arpa")


def own(weights):  # portmert's weights as pyctcdecode has them
    return {"alpha": weights["lm"] / weights["am"], "beta": weights["words"] / weights["am"]}


def decode(weights, posteriors, size):
    ctc.reset_params(**own(weights))
    for one in posteriors:
        beams = ctc.decode_beams(one, beam_width=50, beam_prune_logp=-20.0)
        yield [hypothesis(text, acoustics) for text, _, _, acoustics, _ in beams[:size]]


def hypothesis(text, acoustics):
    unknown = sum(word not in lm for word in text.split())
    return {
        "text": text,
        "features": {
            "am": acoustics,
            "lm": math.log(10) * (lm.score(text) - 10 * unknown),  # unk_score_offset is -10
            "words": len(text.split()),
        },
    }


tuned = portmert.tune(
    decode,
    dev,
    dev_texts,
    start={"am": 1.0, "lm": 0.2, "words": 0.0},
    constraints={"signs": {"am": "+", "lm": "+"}},
    nbest=50,
    metric="wer",
    folder="ctc",
    test=(test, test_texts),
)
print(tuned)
print(own(tuned.weights))
