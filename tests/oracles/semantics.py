"""Slow twins of the metrics of meaning: plain Python from their definitions, exact fractions."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Node:
    """A box or condition; words are (kind, position), of a date (`date`, what it is)."""

    tag: str
    type: str = ""
    symbol: str = ""
    words: tuple[tuple[str, int | str], ...] = ()
    children: tuple[Node, ...] = ()


SUFFIXES = {"word": "", "arg": ".a", "arg1": ".a1", "arg2": ".a2"}
NUMBERED = ("or", "imp", "whq")


def numbered(node, suffix=""):
    """(label, type, words, children), children of some nodes with numbers."""
    label = ".".join(filter(None, (node.tag, node.type, node.symbol))) + suffix
    below = tuple(
        numbered(child, f"-{k}" if node.tag in NUMBERED else "")
        for k, child in enumerate(node.children, 1)
    )
    return label, node.tag + suffix, node.words, below


def overlap(items, references):
    """Counters of items by type -> shared items, all items."""
    types = [*items, *(t for t in references if t not in items)]
    pairs = [(items.get(t, Counter()), references.get(t, Counter())) for t in types]
    return [((a & b).total(), (a | b).total()) for a, b in pairs]


def ratio(pairs, *, average=False):
    if average:
        shares = [Fraction(a, b) for a, b in pairs if b]
        return sum(shares, Fraction(0)) / len(shares) if shares else Fraction(0)
    shared, union = (sum(column) for column in zip(*pairs, strict=True)) if pairs else (0, 0)
    return Fraction(shared, union) if union else Fraction(0)


def lexical(hypothesis, references):
    def words(text):
        return {"": Counter(word.lower() for word in text.words)}

    return max(ratio(overlap(words(hypothesis), words(r))) for r in references)


def of_type(items, kind):
    return items if kind == "*" else {t: c for t, c in items.items() if t == kind}


# Roles


def role_items(text, kind):
    """`names`, `words` or `strings`, with `+verb` or not, of each role."""
    by_role = {}
    content, _, verb = kind.partition("+")
    for place, arguments in text.roles:
        for role, positions in arguments:
            words = tuple(text.words[i] for i in positions)
            items = {"names": [()], "words": [(w,) for w in words], "strings": [words]}[content]
            prefix = (text.words[place],) if verb else ()
            by_role.setdefault(role, Counter()).update(prefix + item for item in items)
    return by_role


def sr(hypothesis, reference, *, kind, role="*", average=False):
    """The value, None where it is missing."""
    if hypothesis.roles is None or reference.roles is None:
        return None
    items, references = (role_items(text, kind) for text in (hypothesis, reference))
    if not items and not references:
        return None
    pairs = overlap(of_type(items, role), of_type(references, role))
    return ratio(pairs, average=average)


# Discourse


def all_nodes(node):
    yield node
    for child in node[3]:
        yield from all_nodes(child)


def dr_items(text, *, tags):
    tokens = text.tags if tags else text.words
    by_type = {}
    for node in all_nodes(numbered(text.drs)):
        for kind, value in (word for below in all_nodes(node) for word in below[2]):
            if kind in SUFFIXES:
                by_type.setdefault(node[1], Counter())[tokens[value], SUFFIXES[kind]] += 1
            elif kind == "date" and not tags:
                by_type.setdefault(node[1], Counter())["date", value] += 1
        for kind, value in node[2]:
            if kind == "referent":
                by_type.setdefault("dr", Counter())[tokens[value], ""] += 1
    return by_type


def dr_or(hypothesis, reference, *, relation="*", tags=False, average=False):
    if hypothesis.drs is None or reference.drs is None:
        return None
    items, references = (dr_items(text, tags=tags) for text in (hypothesis, reference))
    if not items and not references:
        return None
    return ratio(overlap(of_type(items, relation), of_type(references, relation)), average=average)


def paths(node, n):
    def down(node, n):
        if n == 1:
            return [(node[0],)]
        return [(node[0], *path) for child in node[3] for path in down(child, n - 1)]

    return Counter(path for each in all_nodes(node) for path in down(each, n))


def dr_stm(hypothesis, reference, *, length=4, average=False):
    if hypothesis.drs is None or reference.drs is None:
        return None
    nodes, reference_nodes = (numbered(text.drs) for text in (hypothesis, reference))
    pairs = []
    for n in range(1, length + 1):
        a, b = paths(nodes, n), paths(reference_nodes, n)
        pairs.append(((a & b).total(), (a | b).total()))
    return ratio(pairs, average=average)


# Corpora


def judged(segments, value, **options):
    """What each segment is worth by its best reference, None where nobody knows, and its words."""
    pairs = []
    for segment in segments:
        values = [value(segment.hypothesis, r, **options) for r in segment.references]
        there = [v for v in values if v is not None]
        pairs.append((max(there, default=None), lexical(segment.hypothesis, segment.references)))
    return pairs


def corpus(pairs, *, form="plain", denominator="all"):
    """The score of all segments that are judged."""
    there = [x for x, _ in pairs if x is not None]
    mean = sum(there, Fraction(0)) / len(there) if there else Fraction(0)
    counted = pairs if denominator == "all" else [pair for pair in pairs if pair[0] is not None]
    if not counted:
        return 0.0
    total = Fraction(0)
    for x, words in counted:
        if form == "plain":
            total += x or 0
        elif form == "back-off":
            total += mean * words if x is None else x
        else:
            total += ((x or 0) + words) / 2
    return float(total / len(counted))
