"""Statistics of the metrics of tags and parses against BLEU's, and the cache of annotations."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from portmert.metrics._base import Arcs, Batch, ExpectedArcs, Ragged, Texts, Vocabulary
from portmert.tuner.annotation import records
from portmert.tuner.annotation.annotating import CachedAnnotator
from portmert.tuner.annotation.annotators._meaning import Part, discourse_tree, roles_tree
from portmert.tuner.components import registry
from portmert.tuner.nbest.read import read_nbest
from portmert.tuner.texts.corpus import make_batch, read_references
from portmert.tuner.texts.statistics import compute_stats
from tests.bench.measure import in_turn, median_ratio
from tests.support.places import SHARED

if TYPE_CHECKING:
    from pathlib import Path

    from tests.bench.lists import Lists

MODEL = SHARED / "data/parsers/models/en_ewt_tiny.udpipe"
EXPECTED = Arcs(50, 0.25)
GOALS = {
    "posf": 2,
    "wpf": 2,
    "hwcm": 4,
    "hwcm-f": 4,
    "stm": 4,
    "stm-f": 4,
    "dstm": 4,
    "edpm": 4,
    "tkm": 20,
    "tkm:lexical=true": 20,
    "dtkm": 20,
    "ol": 2,
    "sr-or": 6,
    "sr-mr": 6,
    "sr-orv_i": 6,
    "dr-stm": 6,
    "dr-stm_b:length=9": 6,
    "dr-or": 6,
    "dr-orp": 6,
}
TAGS = 45
LABELS = (
    "nsubj", "obj", "obl", "det", "case", "amod", "nmod", "advmod", "conj", "cc", "ccomp", "xcomp",
    "advcl", "acl", "mark", "punct", "compound", "nummod", "aux", "iobj",
)  # fmt: skip
FEW, ROUNDS = 500, 9


def syntax(folder: Path, lists: Lists) -> list[list[str]]:
    """Count a list of 50,000 hypotheses; the arrays of tags and parses are there."""
    vocabulary = Vocabulary()
    references = read_references(
        [lists.reference], vocabulary=vocabulary, source=lists.source, links=[lists.links]
    )
    nbest = read_nbest([lists.nbest], vocabulary, segments=len(references))
    batch = make_batch(nbest.texts, nbest.offsets, references)
    rows: list[list[str]] = []
    if lists.real and MODEL.exists():
        batch, rows = _parsed(folder, batch)
    else:
        batch = _each(batch, _random)
    batch = _each(_each(batch, _with_meaning), _with_trees_and_links)
    bleu = registry.metric("bleu")
    metrics = [registry.metric(name) for name in GOALS]
    units, *seconds = in_turn(
        *(lambda metric=metric: compute_stats(metric, batch) for metric in (bleu, *metrics)),
        rounds=9,
    )
    count = f"{len(batch.hypotheses):,} hypotheses"
    return [
        *(
            [f"count {name} / BLEU, {count}", f"{median_ratio(taken, units):.2f}", f"<= {goal}"]
            for (name, goal), taken in zip(GOALS.items(), seconds, strict=True)
        ),
        *rows,
    ]


def _each(batch: Batch, change) -> Batch:
    return replace(batch, hypotheses=change(batch.hypotheses), references=change(batch.references))


def _parsed(folder: Path, batch: Batch) -> tuple[Batch, list[list[str]]]:
    """Tag and parse all texts, and compare the cache with the parser."""
    backend = registry.annotator(f"udpipe:model={MODEL}")
    needs = ("tags", "heads")

    def annotate(texts: Texts, cache: Path | None) -> Texts:
        annotator = CachedAnnotator(backend, cache=cache, processes=1)
        found = annotator.annotate(texts, needs)
        annotator.close()
        return found

    few = batch.hypotheses.take(np.linspace(0, len(batch.hypotheses) - 1, FEW).astype(np.int64))
    cold = annotate(batch.hypotheses, folder)
    references = annotate(batch.references, folder)
    warm, parser = in_turn(
        lambda: annotate(batch.hypotheses, folder), lambda: annotate(few, None), rounds=ROUNDS
    )
    row = [
        f"warm cache, {len(cold):,} sentences / parser, {FEW}",
        f"{median_ratio(warm, parser):.2f}",
        "<= 1",
    ]
    return replace(batch, hypotheses=cold, references=references), [row]


def _random(texts: Texts) -> Texts:
    """Tag and parse at random: each word hangs on one of its neighbours on the left."""
    rng = np.random.default_rng(len(texts))
    ids = np.array([texts.vocabulary.add(f"T{i}") for i in range(TAGS)], dtype=np.int32)
    tags = ids[rng.integers(0, TAGS, size=len(texts.tokens.values))]
    lengths = texts.tokens.lengths
    place = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    heads = np.maximum(place + 1 - rng.integers(1, 4, size=len(place)), 0)
    names = np.array([texts.vocabulary.add(name) for name in LABELS], dtype=np.int32)
    labels = names[rng.integers(0, len(LABELS), size=len(place))]
    pairs = np.column_stack([heads, labels]).astype(np.int32)
    offsets = texts.tokens.offsets
    return replace(texts, tags=Ragged(tags, offsets), heads=Ragged(pairs, offsets))


def _with_meaning(texts: Texts) -> Texts:
    """Add a proposition and a box for each word that others hang on, over these words."""
    rows: tuple[list[bytes], list[bytes]] = ([], [])
    for index in range(len(texts)):
        words, heads = texts.words(index), texts.heads.row(index)[:, 0].tolist()
        below = {h - 1: [j for j, head in enumerate(heads) if head == h] for h in {*heads} - {0}}
        roles = roles_tree(
            (verb, tuple((f"A{k}", (word,)) for k, word in enumerate(arguments)))
            for verb, arguments in below.items()
        )
        boxes = [
            Part("drs", children=[Part("pred", symbol=words[i], words=[("word", i)]) for i in row])
            for row in below.values()
        ]
        both = (roles, discourse_tree(Part("drs", children=boxes)))
        for column, structure in zip(rows, both, strict=True):
            column.append(records.pack_structure(structure, len(words)))
    made = [records.unpack_structures(column, texts.vocabulary) for column in rows]
    return replace(texts, roles=made[0], drs=made[1])


def _with_trees_and_links(texts: Texts) -> Texts:
    """Add constituents, a phrase for every word that others hang on, and two links a word."""
    trees = Ragged.from_rows([_constituents(texts, i) for i in range(len(texts))], 2)
    heads = texts.heads
    lengths = np.repeat(heads.lengths, heads.lengths)
    place = np.arange(len(lengths)) - np.repeat(heads.offsets[:-1], heads.lengths)
    # The same word with the next head in the sentence: no link stands twice.
    other = (heads.values[:, 0] + 1) % (lengths + 1)
    links = np.empty((2 * len(place), 3), dtype=np.int32)
    links[:, 0] = np.repeat(place, 2)
    links[0::2, 1], links[1::2, 1] = heads.values[:, 0], other
    links[:, 2] = np.repeat(heads.values[:, 1], 2)
    weights = np.tile([0.8, 0.2], len(place))
    arcs = ExpectedArcs(Ragged(links, 2 * heads.offsets), weights)
    return replace(texts, trees=trees, arcs={EXPECTED: arcs})


def _constituents(texts: Texts, index: int) -> list[tuple[int, int]]:
    """Return a tree in preorder: of each word a phrase with what hangs on its left, in that one
    with what hangs on its right, over some words alone. As in treebanks 1.8 nodes a word.
    """  # fmt: skip
    tokens, tags = texts.tokens.row(index).tolist(), texts.tags.row(index).tolist()
    heads = texts.heads.row(index)[:, 0].tolist()
    below = [[j for j, head in enumerate(heads) if head == i] for i in range(len(tokens) + 1)]
    nodes: list[tuple[int, int]] = []
    todo = [(word, -1, True, True) for word in below[0][:1]]
    while todo:
        word, parent, left, right = todo.pop()
        befores = [j for j in below[word + 1] if j < word and left]
        afters = [j for j in below[word + 1] if j > word and right]
        nodes.append((tags[word], parent))
        here = len(nodes) - 1
        if not befores and not afters:
            if left and tags[word] % 3 == 0:
                nodes.append((tags[word], here))
            nodes.append((tokens[word], len(nodes) - 1))
            continue
        if befores:
            parts = [*((j, True, True) for j in befores), (word, False, right)]
        else:
            parts = [(word, False, False), *((j, True, True) for j in afters)]
        todo += [(part, here, *sides) for part, *sides in reversed(parts)]
    return nodes
