"""Models of the embedded decoder, trained and loaded: phrases, word alignment, language."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from portmert.aligners import _thot, _training
from portmert.aligners._base import Links
from portmert.metrics._elementary import exp, log
from portmert.tuner.base.errors import ProgramError, StateError

Kind = Literal["ibm1", "ibm2", "hmm", "fast_align"]
"""The word alignment models that thot's decoder can load, under other names (SMT_TYPES)."""

SMT_TYPES = {
    "ibm1": "INCR_IBM1",
    "ibm2": "INCR_IBM2",
    "hmm": "INCR_HMM",
    "fast_align": "FAST_ALIGN",
}
LEXICONS = {"ibm1": "ibm_lexnd", "ibm2": "ibm_lexnd", "hmm": "hmm_lexnd", "fast_align": "fa_lexnd"}
PREFIXES = {"direct": "tm_invswm", "inverse": "tm_swm"}
"""thot's file names for p(target | source) and p(source | target)."""

PRUNE = 1e-5
"""Lexical probabilities below are dropped, more than half of them.

On the demo's dev set no best hypothesis changes by it, and 63 of 16,000 word alignments do.
"""

LEXICON_ENTRY = np.dtype(
    [("source", "<u4"), ("target", "<u4"), ("log_count", "<f4"), ("log_total", "<f4")]
)
LM_INTERPOLATION = 0.5
LM_BUCKETS, LM_BUCKET_SIZE = 3, 10
"""thot interpolates orders by history count: a weight for each order and bucket of 10 counts."""

TABLES = {
    "tm.lambda": "0.7 0.7",  # phrase tables against word models, both directions
    "tm.srcsegmlentable": "Uniform",
    "tm.trgcutstable": "0.999",
    "tm.trgsegmlentable": "Geometric",
}


def train(
    folder: Path,
    *,
    source: Sequence[Sequence[str]],
    target: Sequence[Sequence[str]],
    aligner: Kind,
    iterations: int,
    lm_order: int,
    max_phrase_length: int,
    translations: int,
    timeout_seconds: float,
) -> dict[str, int]:
    """Train all models on lists of tokens and leave thot's files in `folder`; return counts.

    Raises
    ------
    InputError, ProgramError
        There is nothing to train on, or thot failed.
    """
    import thot.translation  # noqa: PLC0415  loads a large library

    left, right = _thot.escape_all(source), _thot.escape_all(target)
    counts = _thot.train(
        folder,
        aligner,
        iterations=iterations,
        source=left,
        target=right,
        timeout_seconds=timeout_seconds,
    )
    limit = _thot.max_length(aligner)
    used, _ = _training.usable(f"thot {aligner}", left, right, most=limit)
    left, right = [left[index] for index in used], [right[index] for index in used]
    models = _thot.SymmetrizedModels(folder, aligner, "grow-diag-final-and")
    links = models.align(left, right)
    del models
    alignments = folder / "tm.A3.final"
    with alignments.open("w", encoding="utf-8", newline="\n") as file:
        for entry in zip(left, right, links, strict=True):
            file.write(giza_entry(*entry))
    parameters = thot.translation.PhraseExtractParameters()
    parameters.max_target_phrase_length = max_phrase_length
    model = thot.translation.PhraseModel()
    built = model.build(str(alignments), parameters, False)  # noqa: FBT003  pseudo_ml
    if not built or not model.print_phrase_table(str(folder / "tm.ttable"), translations):
        raise ProgramError("thot: extracting phrases from the aligned bitext failed")
    model.clear()
    alignments.unlink()
    write_language_model(folder / "lm", right, order=lm_order)
    for direction, prefix in PREFIXES.items():
        for path in sorted(folder.glob(f"{direction}.*")):
            path.rename(folder / (prefix + path.name.removeprefix(direction)))
        prune_lexicon(folder / f"{prefix}.{LEXICONS[aligner]}")
    for name, text in TABLES.items():
        (folder / name).write_text(text, encoding="utf-8")
    return counts


def giza_entry(source: Sequence[str], target: Sequence[str], links: Links) -> str:
    """Return one sentence pair in GIZA's A3 format, target words with 1-based source positions.

    The first line is the source: to thot the phrase table is p(source | target) read backwards.
    """
    positions: list[list[int]] = [[] for _ in target]
    for s, t in links:
        positions[t].append(s + 1)
    linked = {s + 1 for s, _ in links}
    fields = [("NULL", [s for s in range(1, len(source) + 1) if s not in linked])]
    fields.extend(zip(target, positions, strict=True))
    entries = (f"{word} ({{ {''.join(f'{s} ' for s in row)}}})" for word, row in fields)
    return f"# 1\n{' '.join(source)}\n{' '.join(entries)}\n"


def write_language_model(path: Path, sentences: Sequence[Sequence[str]], *, order: int) -> None:
    """Write n-gram counts of orders 1 to `order` and the interpolation weights.

    The first occurrence of every word counts as the unknown word, which gives that one a
    probability (Good and Turing's: as many words are new as were seen once).
    """
    seen: set[str] = set()
    counts: Counter[tuple[str, ...]] = Counter()
    total = 0
    for sentence in sentences:
        words = ["<s>"]
        for word in sentence:
            words.append(word if word in seen else "<unk>")
            seen.add(word)
        words.append("</s>")
        total += len(words)
        for n in range(1, order + 1):
            counts.update(zip(*(words[start:] for start in range(n)), strict=False))
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for gram in sorted(counts, key=lambda gram: (len(gram), gram)):
            history = total if len(gram) == 1 else counts[gram[:-1]]
            file.write(f"{' '.join(gram)} {history} {counts[gram]}\n")
    weights = " ".join([f"{LM_INTERPOLATION:.6f}"] * (order * LM_BUCKETS))
    path.with_name(path.name + ".weights").write_text(
        f"{order} {LM_BUCKETS} {LM_BUCKET_SIZE} {weights}\n", encoding="utf-8"
    )


def prune_lexicon(path: Path) -> None:
    """Drop the entries of a lexical table below PRUNE and normalise what is left.

    Every decoder process reads the file again.
    """
    entries = np.fromfile(path, dtype=LEXICON_ENTRY)
    # Sorted as well, so that the file does not depend on the order of thot's hash table.
    entries = entries[np.lexsort((entries["target"], entries["source"]))]
    counts = exp(entries["log_count"].astype(np.float64))
    _, first, group = np.unique(entries["source"], return_index=True, return_inverse=True)
    if not len(first):
        return
    keep = counts >= PRUNE * np.add.reduceat(counts, first)[group]
    totals = log(np.add.reduceat(np.where(keep, counts, 0.0), first))
    entries["log_total"] = totals[group]
    entries[keep].tofile(path)


def load(folder: Path, aligner: Kind, settings: dict[str, Any], weights: Sequence[float]) -> Any:
    """Return thot's model with these settings and feature weights.

    Raises
    ------
    StateError
        thot cannot load its files.
    """
    import thot.alignment  # noqa: PLC0415  loads a large library
    import thot.translation  # noqa: PLC0415

    model = thot.translation.SmtModel(
        getattr(thot.alignment.AlignmentModelType, SMT_TYPES[aligner])
    )
    if not model.load_translation_model(str(folder / "tm")):
        raise StateError(f"{folder}: thot cannot load the translation model; remove the folder")
    if not model.load_language_model(str(folder / "lm")):
        raise StateError(f"{folder}: thot cannot load the language model; remove the folder")
    for name, value in settings.items():
        setattr(model, name, value)
    model.weights = list(weights)
    return model
