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


def overlap(own, other):
    """Counters of items by type -> shared items, all items."""
    types = [*own, *(t for t in other if t not in own)]
    pairs = [(own.get(t, Counter()), other.get(t, Counter())) for t in types]
    return [((a & b).total(), (a | b).total()) for a, b in pairs]


def ratio(pairs, *, average=False, divisor=None):
    if average:
        shares = [Fraction(a, b) for a, b in pairs if b]
        count = divisor or len(shares)
        return sum(shares, Fraction(0)) / count if count else Fraction(0)
    shared, union = (sum(column) for column in zip(*pairs, strict=True)) if pairs else (0, 0)
    return Fraction(shared, union) if union else Fraction(0)


def lexical(hypothesis, references):
    def words(text):
        return {"": Counter(word.lower() for word in text.words)}

    return max(ratio(overlap(words(hypothesis), words(r))) for r in references)


def of_type(items, wanted):
    return items if wanted == "*" else {t: c for t, c in items.items() if t == wanted}


# Roles


def role_items(text, kind):
    """`names`, `words` or `strings`, with `+verb` or not, of each role."""
    found = {}
    what, _, verb = kind.partition("+")
    for place, arguments in text.roles:
        for role, positions in arguments:
            words = tuple(text.words[i] for i in positions)
            items = {"names": [()], "words": [(w,) for w in words], "strings": [words]}[what]
            prefix = (text.words[place],) if verb else ()
            found.setdefault(role, Counter()).update(prefix + item for item in items)
    return found


def sr(hypothesis, reference, *, kind, wanted="*", average=False):
    """The value, None where it is missing."""
    if hypothesis.roles is None or reference.roles is None:
        return None
    own, other = (role_items(text, kind) for text in (hypothesis, reference))
    if not own and not other:
        return None
    pairs = overlap(of_type(own, wanted), of_type(other, wanted))
    return ratio(pairs, average=average)


# Discourse


def all_nodes(node):
    yield node
    for child in node[3]:
        yield from all_nodes(child)


def dr_items(text, *, tags):
    tokens = text.tags if tags else text.words
    found = {}
    for node in all_nodes(numbered(text.drs)):
        for what, value in (word for below in all_nodes(node) for word in below[2]):
            if what in SUFFIXES:
                found.setdefault(node[1], Counter())[tokens[value], SUFFIXES[what]] += 1
            elif what == "date" and not tags:
                found.setdefault(node[1], Counter())["date", value] += 1
        for what, value in node[2]:
            if what == "referent":
                found.setdefault("dr", Counter())[tokens[value], ""] += 1
    return found


def dr_or(hypothesis, reference, *, wanted="*", tags=False, average=False):
    if hypothesis.drs is None or reference.drs is None:
        return None
    own, other = (dr_items(text, tags=tags) for text in (hypothesis, reference))
    if not own and not other:
        return None
    return ratio(overlap(of_type(own, wanted), of_type(other, wanted)), average=average)


def paths(node, n):
    def down(node, n):
        if n == 1:
            return [(node[0],)]
        return [(node[0], *rest) for child in node[3] for rest in down(child, n - 1)]

    return Counter(path for each in all_nodes(node) for path in down(each, n))


def dr_stm(hypothesis, reference, *, length=4, average=False):
    if hypothesis.drs is None or reference.drs is None:
        return None
    own, other = (numbered(text.drs) for text in (hypothesis, reference))
    pairs = []
    for n in range(1, length + 1):
        a, b = paths(own, n), paths(other, n)
        pairs.append(((a & b).total(), (a | b).total()))
    return ratio(pairs, average=average, divisor=length)


# Corpora


def judged(segments, value, **options):
    """What each segment is worth by its best reference, None where nobody knows, and its words."""
    found = []
    for segment in segments:
        values = [value(segment.hypothesis, r, **options) for r in segment.references]
        there = [v for v in values if v is not None]
        found.append((max(there, default=None), lexical(segment.hypothesis, segment.references)))
    return found


def corpus(found, *, form="plain", denominator="all"):
    """The score of all segments that are judged."""
    there = [x for x, _ in found if x is not None]
    mean = sum(there, Fraction(0)) / len(there) if there else Fraction(0)
    counted = found if denominator == "all" else [one for one in found if one[0] is not None]
    if not counted:
        return 0.0
    total = Fraction(0)
    for x, other in counted:
        if form == "plain":
            total += x or 0
        elif form == "back-off":
            total += mean * other if x is None else x
        else:
            total += ((x or 0) + other) / 2
    return float(total / len(counted))
