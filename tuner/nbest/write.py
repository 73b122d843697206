"""Writes n-best lists in Moses' text form."""

from __future__ import annotations

from pathlib import Path

from portmert.tuner.ground.errors import InputError
from portmert.tuner.ground.files import writing
from portmert.tuner.nbest.model import NBest, model_scores
from portmert.tuner.weights.feature_weights import FeatureWeights


def write_nbest(nbest: NBest, path: Path | str, weights: FeatureWeights | None = None) -> None:
    """Write a Moses n-best list, whole or not at all; reading it gives `nbest` again.

    Numbers have as many digits as it takes to read the same float64. With `weights` the model
    scores are weights . features, not those of the list.

    Raises
    ------
    InputError
        A hypothesis has the token `|||`, a feature's name is not one word, or a dense feature has
        no weight.
    """
    sparse = () if nbest.sparse is None else nbest.sparse.names
    for name in (*(name for name, _ in nbest.feature_names), *sparse):
        if name.split() != [name] or name == "|||":
            raise InputError(
                f"{path}: feature '{name}' cannot be in a Moses list: a name there is one word; "
                f"rename it"
            )
    words, bars = nbest.texts.vocabulary.words, "|||"
    forbidden = {token for token, word in enumerate(words) if word == bars}
    scores = nbest.model_scores if weights is None else model_scores(nbest, weights)
    # Few values are distinct, and printing a float is what takes the time.
    printed: dict[float, str] = {}
    with writing(path) as out:
        for segment in range(len(nbest)):
            lines = []
            for row in range(int(nbest.offsets[segment]), int(nbest.offsets[segment + 1])):
                tokens = nbest.texts.tokens.row(row).tolist()
                if forbidden and not forbidden.isdisjoint(tokens):
                    raise InputError(
                        f"{path}: segment {segment}: a hypothesis has the token |||, which "
                        f"separates fields; escape it"
                    )
                fields = [str(segment), " ".join([words[token] for token in tokens])]
                fields.append(_features_text(nbest, row, printed))
                fields.append(_shortest(float(scores[row])))
                if nbest.texts.links is not None:
                    links = nbest.texts.links.row(row).tolist()
                    fields.append(" ".join([f"{i}-{j}" for i, j in links]))
                lines.append(" ||| ".join(fields).rstrip() + "\n")
            out.write("".join(lines).encode("utf-8"))


def _shortest(value: float) -> str:
    text = repr(value)
    return text.removesuffix(".0")


def _features_text(nbest: NBest, row: int, printed: dict[float, str]) -> str:
    parts, column = [], 0
    values = nbest.features[row].tolist()
    for value in values:
        # 0 and -0 are one key; which of them is printed first must not matter.
        if value not in printed:
            printed[value] = _shortest(value) if value else "0"
    for name, size in nbest.feature_names:
        parts.append(f"{name}=")
        parts.extend([printed[value] for value in values[column : column + size]])
        column += size
    sparse = nbest.sparse
    if sparse is not None:
        for entry in range(int(sparse.offsets[row]), int(sparse.offsets[row + 1])):
            name = sparse.names[sparse.columns[entry]]
            parts.append(f"{name}= {_shortest(float(sparse.values[entry]))}")
    return " ".join(parts)
