"""Reads tags and parses of the demo's target language off derivations: a treebank."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tests.support.languages.derivation import Leaf, Node, Pair

UNIVERSAL = {
    "NEG": "PART", "PRT": "PART", "Q": "PART", "CONJ": "CCONJ", "COMP": "SCONJ", "REL": "PRON",
}  # fmt: skip
"""Universal tags of what the grammar calls otherwise."""

RELATIONS = {
    "subject": "nsubj", "object": "obj", "where": "obl", "adverb": "advmod", "tense": "aux",
    "before": "advmod:neg", "negation": "advmod:neg", "particle": "compound:prt", "that": "mark",
    "clause": "ccomp", "article": "det", "adjective": "amod", "owner": "nmod",
    "relative": "acl:relcl", "who": "nsubj", "inner": "pobj", "asks": "discourse", "end": "punct",
    "joint": "cc", "second": "conj", "reason": "advcl",
}  # fmt: skip
"""Labels of dependency links, by what a word is to its head."""


@dataclass(frozen=True)
class Token:
    """Holds a word of the target sentence.

    Parameters
    ----------
    tag, features
        The grammar's part of speech and what the form shows.
    head
        Position of the head from 1; 0 is the root.
    relation
        Label of the link to the head.
    """

    form: str
    tag: str
    features: tuple[str, ...]
    head: int
    relation: str


def parse(pair: Pair) -> tuple[Token, ...]:
    """Return the dependency tree of the target sentence."""
    tokens: list[Token] = []
    heads: dict[int, tuple[int, str]] = {}
    root = _attach(pair.tree, tokens, heads)
    heads[root] = (0, "root")
    return tuple(
        Token(token.form, token.tag, token.features, *heads[place])
        for place, token in enumerate(tokens, 1)
    )


def _attach(node: Node, tokens: list[Token], heads: dict[int, tuple[int, str]]) -> int:
    """Add a node's words and the links between them; return the place of its head word."""
    if isinstance(node, Leaf):
        (form,) = node.target
        tokens.append(Token(form, node.tag, node.features, 0, ""))
        return len(tokens)
    places = {
        child: _attach(node.children[child], tokens, heads)
        for child in node.target_order
        if not isinstance(node.children[child], Leaf) or node.children[child].target  # type: ignore[union-attr]
    }
    head = places.pop(node.head)
    for child, place in places.items():
        heads[place] = (head, RELATIONS[node.roles[child]])
    return head


def to_conllu(pairs: Sequence[Pair], name: str) -> str:
    """Return the target sentences as CoNLL-U; the detailed tag is the tag and its features."""
    blocks = []
    for number, pair in enumerate(pairs, 1):
        lines = [f"# sent_id = {name}-{number}", f"# text = {' '.join(pair.target)}"]
        for place, token in enumerate(parse(pair), 1):
            features = "|".join(token.features)
            detailed = "-".join([token.tag, *(item.split("=")[1] for item in token.features)])
            lines.append(
                f"{place}\t{token.form}\t_\t{UNIVERSAL.get(token.tag, token.tag)}\t{detailed}\t"
                f"{features or '_'}\t{token.head}\t{token.relation}\t_\t_"
            )
        blocks.append("\n".join(lines) + "\n\n")
    return "".join(blocks)
