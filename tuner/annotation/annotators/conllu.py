"""Parses from CoNLL-U files made elsewhere."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, NamedTuple

from pydantic.dataclasses import dataclass

from ...base.errors import InputError, counted, faults_at
from ...base.warn import warn
from ...texts.annotator import Annotation, AnnotationRequest, Heads, Layer
from . import _conllu, _lookup, _tokens, _trees
from ._conllu import ConlluTree, Tagset
from ._lookup import FileAnnotator


@dataclass(frozen=True)
class Conllu(FileAnnotator):
    """Looks sentences up by their tokens in CoNLL-U files, in any order.

    Several trees with the same `# sent_id = ` are an n-best list; each has a line
    `# parse_logprob = ` (natural logarithm). If a sentence occurs twice, the first one counts; a
    warning says so if the annotations differ.

    Parameters
    ----------
    tagset : upos, xpos, upos+feats or xpos+feats
        The columns that make the tag of a word. An empty XPOS is replaced by UPOS, and vice versa.
    """

    tagset: Tagset = "xpos"

    gives: ClassVar[frozenset[Layer]] = frozenset({"tags", "heads", "tree", "parses"})
    version: ClassVar[int] = 2

    def read(self) -> Mapping[str, _Trees]:
        """Read the sentences of the files, by the key of each."""
        entries: dict[str, _Trees] = {}
        conflicts: list[tuple[_Trees, _Trees]] = []  # of equal sentences, with other annotations
        split: dict[str, _Trees] = {}
        for path in self.files:
            closed: dict[str, int] = {}
            # A tree without a name is a sentence of its own.
            for name, group in itertools.groupby(
                _conllu.read(path), lambda block: block.sent_id or f"\n{block.line}"
            ):
                trees = list(group)
                if name in closed:
                    raise InputError(
                        f"{path}:{trees[0].line}: sent_id '{name}' stands in line {closed[name]} "
                        f"already; the trees of one sentence follow each other"
                    )
                closed[name] = trees[0].line
                entry = _sentence(path, trees, self.tagset)
                first = entries.setdefault(_lookup.key(trees[0].tokens), entry)
                if first[1:] != entry[1:]:
                    conflicts.append((first, entry))
                if trees[0].multiwords:
                    where, form = f"{path}:{trees[0].line}", trees[0].multiwords[0][2]
                    split.setdefault(_lookup.key(trees[0].text), _Trees(where, (), "", (), form))
        if conflicts:
            first, second = conflicts[0]
            warn(
                f"{counted(len(conflicts), 'sentence')} with the words of an earlier one, but "
                f"other annotations, as {second.where} and {first.where}: the first counts"
            )
        return split | entries

    def has(self) -> frozenset[Layer]:
        """Return the layers that all sentences of the files have, unparsed ones left aside."""
        parsed = [trees for trees in self.entries().values() if trees.parses]
        there: set[Layer] = set()
        if all(all(trees.tags) for trees in parsed):
            there |= {"tags"}
        if all(trees.parses[0][1] for trees in parsed):
            there |= {"heads", "parses"}
        if all(trees.tree for trees in parsed):
            there |= {"tree"}
        return frozenset(there)

    def annotation_of(self, entry: _Trees, request: AnnotationRequest) -> Annotation | None:
        """Return what is asked for.

        Raises
        ------
        InputError
            The files do not have it, or have it for other words.
        """
        if entry.split and self.missing == "error":
            raise InputError(
                f"{entry.where}: '{entry.split}' is several words here and one token in the "
                f"text; parse the text as it is, one word for each token"
            )
        if not entry.parses:
            return None
        layers = request.layers
        heads = entry.parses[0][1]
        if "tags" in layers and not all(entry.tags):
            raise InputError(
                f"{entry.where}: a word has neither UPOS nor XPOS, and tags are needed"
            )
        if layers & {"heads", "parses"} and not heads:
            raise InputError(f"{entry.where}: HEAD is '{_conllu.NOTHING}' and parses are needed")
        if "tree" in layers and not entry.tree:
            raise InputError(
                f"{entry.where}: no line '# tree = (S ...)' and constituency trees are needed"
            )
        return Annotation(
            tags=entry.tags if "tags" in layers else (),
            heads=heads if "heads" in layers else (),
            tree=entry.tree if "tree" in layers else "",
            parses=entry.parses[: request.parses] if "parses" in layers else (),
        )


class _Trees(NamedTuple):
    """One sentence of a file: the tags and the tree of its best parse; all parses, best first."""

    where: str
    tags: tuple[str, ...]
    tree: str
    parses: tuple[tuple[float, Heads], ...]
    split: str = ""  # a token that is several words; the other fields are then empty


def _sentence(path: Path, blocks: list[ConlluTree], tagset: Tagset) -> _Trees:
    """Return the parses of a sentence, the best one first; each is a block of the file."""
    first = blocks[0]
    for block in blocks[1:]:
        if block.tokens != first.tokens:
            raise InputError(
                f"{path}:{block.line}: other words than the tree of line {first.line}, which has "
                f"the same sent_id"
            )
        if bool(block.heads) != bool(first.heads):
            raise InputError(f"{path}:{block.line}: HEAD is missing in one tree of a sentence")
    for block in blocks:
        if len(blocks) > 1 and block.logprob is None:
            raise InputError(
                f"{path}:{block.line}: no '# parse_logprob = ', which every one of "
                f"{counted(len(blocks), 'tree')} of a sentence needs"
            )
    ranked = sorted(blocks, key=lambda block: -(block.logprob or 0.0))
    best = ranked[0]
    where = f"{path}:{best.line}"
    if best.unparsed:
        return _Trees(where, (), "", ())
    tags = tuple(_conllu.tag(word, tagset) for word in best.words)
    tree, derived = _tree(path, best)
    # Without HEAD each parse has the heads of its own constituents.
    heads = [
        block.heads or (derived if block is best else _tree(path, block)[1]) for block in ranked
    ]
    bare = next((block for block, links in zip(ranked, heads, strict=True) if not links), None)
    if bare is not None and any(heads):
        raise InputError(
            f"{path}:{bare.line}: neither HEAD nor '# tree = ', which another parse of the same "
            f"sentence has"
        )
    parses = tuple(
        (block.logprob or 0.0, links) for block, links in zip(ranked, heads, strict=True)
    )
    return _Trees(where, tags, tree, parses)


def _tree(path: Path, block: ConlluTree) -> tuple[str, Heads]:
    """Return the tree in brackets, and its dependencies if HEAD is not given."""
    if not block.tree:
        return "", ()
    where = f"{path}:{block.tree_line}"
    with faults_at(where, ValueError, InputError):
        tree = _trees.parse(block.tree)
    if len(tree.leaves) != len(block.words):
        raise InputError(
            f"{where}: the tree has {counted(len(tree.leaves), 'token')}, the sentence "
            f"{len(block.words)}"
        )
    if _lookup.key(tree.tokens) not in (
        _lookup.key(block.tokens),
        _lookup.key(_tokens.as_parsed(block.tokens)),
    ):
        place = next(
            place
            for place, pair in enumerate(zip(tree.tokens, block.tokens, strict=True))
            if _tokens.comparable(pair[0]) != _tokens.comparable(pair[1])
        )
        raise InputError(
            f"{where}: token {place + 1} of the tree is '{tree.tokens[place]}', that of the "
            f"sentence '{block.tokens[place]}'"
        )
    return str(tree), () if block.heads else _trees.dependencies(tree)
