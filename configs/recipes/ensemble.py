"""Tunes the weights of an ensemble, or of shallow fusion, inside the beam of transformers.

first, others   a model that translates; {name: model} of models with the same vocabulary
encode, spell   make tokens of a text, and a text of tokens; end is the last token
dev, dev_refs, test, test_refs  texts and their references
"""

import portmert
import torch
from transformers import LogitsProcessor


class Fused(LogitsProcessor):  # the score of each next token in the beam
    def __init__(self, weights, source):
        self.weights, self.source = weights, source

    def __call__(self, ids, scores):  # scores: log-probabilities of the first model
        total = self.weights["first"] * scores + self.weights["length"]
        for name, model in others.items():
            total = total + self.weights[name] * following(model, self.source, ids)[:, -1]
        return total


def following(model, source, ids):  # log-probabilities of tokens after each of ids
    source = source.expand(len(ids), -1)
    return model(input_ids=source, decoder_input_ids=ids).logits.log_softmax(-1)


@torch.no_grad()
def decode(weights, sources, size):
    for text in sources:
        source = torch.tensor([encode(text)])
        found = first.generate(
            source,
            num_beams=max(4, size),
            num_return_sequences=size,
            length_penalty=0.0,
            logits_processor=[Fused(weights, source)],
            max_new_tokens=20,
            return_dict_in_generate=True,
            output_scores=True,
        )
        yield [
            hypothesis(source, ids, float(score))
            for ids, score in zip(found.sequences, found.sequences_scores)
        ]


def hypothesis(source, ids, score):
    ids = ids[: [*ids.tolist(), end].index(end) + 1]  # without what fills the batch
    features = {"length": len(ids) - 1}
    for name, model in {"first": first, **others}.items():
        own = following(model, source, ids[None, :-1])[0]
        features[name] = float(own.gather(1, ids[1:, None]).sum())
    return {"text": spell(ids), "features": features, "model_score": score}


tuned = portmert.tune(
    decode,
    dev,
    dev_refs,
    metric="wer",
    folder="fused",
    nbest=8,
    iterations=2,
    start={"first": 1.0, "second": 0.2, "length": 0.0},
    constraints={"signs": {"first": "+"}},
    test=(test, test_refs),
)
print(tuned)
