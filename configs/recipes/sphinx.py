"""Tunes lw and wip of pocketsphinx.

dev is a list of WAV files (16 kHz, one channel), dev_texts is what was said in them.
"""

import math
import wave

import portmert
from pocketsphinx import Config, Decoder, LogMath, NGramModel, get_model_path

MODEL = get_model_path() + "/en-us/en-us.lm.bin"
logs = LogMath()
lm = NGramModel(Config(), logs, MODEL)


def own(weights):  # portmert's weights as pocketsphinx has them
    lw = weights["lm"] / weights["am"]
    return {"lw": lw, "wip": math.exp(weights["words"] / weights["am"])}


def decode(weights, recordings, size):
    new = own(weights)
    recogniser = Decoder(
        **new, bestpathlw=new["lw"], fwdflatlw=new["lw"], compallsen=True, loglevel="FATAL"
    )
    for name in recordings:
        with wave.open(name) as sound:
            recogniser.start_utt()
            recogniser.process_raw(sound.readframes(sound.getnframes()), full_utt=True)
            recogniser.end_utt()
        found = {}
        for one, _ in zip(recogniser.nbest(), range(10 * size)):
            if one is None or len(found) == size:
                break
            found.setdefault(one.hypstr, hypothesis(one, new))
        yield list(found.values())


def hypothesis(one, new):
    words = ["<s>", *one.hypstr.split(), "</s>"]
    runs = [words[max(0, n - 2) : n + 1][::-1] for n in range(len(words))]
    said = sum(logs.log_to_ln(lm.prob(run)) for run in runs)
    score = 1024 * math.log(one.score)  # pocketsphinx shows the 1024th root
    acoustics = score - new["lw"] * said - math.log(new["wip"]) * len(words)
    return {
        "text": one.hypstr,
        "features": {"am": acoustics, "lm": said, "words": len(words)},
    }


tuned = portmert.tune(
    decode,
    dev,
    dev_texts,
    start={"am": 1.0, "lm": 6.5, "words": math.log(0.65)},
    constraints={"signs": {"am": "+", "lm": "+"}},
    nbest=50,
    decodings=4,
    metric="wer",
    folder="sphinx",
)
print(tuned)
print(own(tuned.weights))
