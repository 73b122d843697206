"""Reads predicates and their arguments off dependency parses, by rules: an approximation.

The rules are in the manner of PredPatt (White et al., "Universal decompositional semantics on
Universal Dependencies", EMNLP 2016): predicates are heads of clauses, arguments what hangs on
them; roles are named after PropBank's by grammatical function, without a lexicon.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from portmert.tuner.annotation.annotators._base import Heads, Structure
from portmert.tuner.annotation.annotators._meaning import Argument, roles_tree

OLD = {
    "nsubjpass": "nsubj:pass", "csubjpass": "csubj:pass", "auxpass": "aux:pass", "dobj": "obj",
    "dative": "iobj", "neg": "advmod:neg", "relcl": "acl:relcl", "agent": "obl:agent",
    "pobj": "obl", "oprd": "xcomp", "acomp": "xcomp", "npadvmod": "obl", "tmod": "obl:tmod",
}  # fmt: skip
"""What Universal Dependencies call labels of their first version and of English pipelines."""

CLAUSES = ("ccomp", "xcomp", "csubj", "advcl", "acl", "parataxis")
"""What hangs on a word by one of these is a predicate."""

CORE = ("nsubj", "csubj", "obj", "iobj", "ccomp", "xcomp")
"""What has one of these is a predicate."""

ROLES = {
    "nsubj": "A0", "csubj": "A0", "obj": "A1", "ccomp": "A1", "xcomp": "A1", "iobj": "A2",
    "obl": "AM", "advmod": "AM-ADV", "advcl": "AM-ADV", "obl:tmod": "AM-TMP",
    "advmod:neg": "AM-NEG", "obl:agent": "A0", "nsubj:pass": "A1", "csubj:pass": "A1",
    "discourse": "AM-DIS", "vocative": "AM-DIS",
}  # fmt: skip
"""Roles by the label, or by what stands before its colon."""

NEGATIONS = frozenset((
    "not", "n't", "no", "never", "neither", "nor", "cannot", "nothing", "nobody", "none",
    "n\u2019t", "nicht", "nie", "niemals", "kein", "keine", "keinen", "keinem", "keiner", "keines",
    "ne", "pas", "jamais", "non", "mai", "nunca", "não", "niet", "nooit", "geen", "inte",
    "aldrig", "ikke", "nie", "ei", "mitte",
))  # fmt: skip
"""Words that negate; labels (`advmod:neg`) and features (Polarity=Neg) tell it of other
languages. Some mean something else in another language: the price of asking for none."""


@dataclass(frozen=True)
class Sentence:
    """Holds a dependency parse of one sentence; tags are empty if there are none."""

    words: Sequence[str]
    heads: Heads
    tags: tuple[str, ...] = ()

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Labels, as Universal Dependencies have them."""
        return tuple(OLD.get(label.lower(), label.lower()) for _, label in self.heads)

    @cached_property
    def below(self) -> tuple[tuple[int, ...], ...]:
        """Of each word those that hang on it, in order."""
        found: list[list[int]] = [[] for _ in self.heads]
        for place, (head, _) in enumerate(self.heads):
            if head:
                found[head - 1].append(place)
        return tuple(map(tuple, found))

    @cached_property
    def roots(self) -> tuple[int, ...]:
        """Words without a head."""
        return tuple(place for place, (head, _) in enumerate(self.heads) if not head)

    @property
    def levels(self) -> int:
        """How many words stand one below the other at most."""
        level, row = 0, list(self.roots)
        while row:
            level, row = level + 1, [child for place in row for child in self.below[place]]
        return level

    def kind(self, place: int) -> str:
        """Return a label without what stands behind its colon."""
        return self.labels[place].partition(":")[0]

    def parts(self, place: int, kind: str) -> list[int]:
        """Return what hangs on a word by labels of a kind."""
        return [child for child in self.below[place] if self.kind(child) == kind]

    def span(self, place: int, without: int = -1) -> tuple[int, ...]:
        """Return a word and all below it in order, but `without` and all below that.

        Punctuation at the ends is left out.
        """
        found, todo = [], [place]
        while todo:
            one = todo.pop()
            if one != without:
                found.append(one)
                todo += self.below[one]
        found.sort()
        while len(found) > 1 and self.kind(found[0]) == "punct":
            found.pop(0)
        while len(found) > 1 and self.kind(found[-1]) == "punct":
            found.pop()
        return tuple(found)

    def is_verb(self, place: int) -> bool:
        """Return whether the tag, if there is one, is that of a verb in some tagset."""
        return bool(self.tags) and self.tags[place][:1] in ("V", "v")

    def negates(self, place: int) -> bool:
        """Return whether a word says that something is not so."""
        return (
            self.labels[place].endswith(":neg")
            or (bool(self.tags) and "Polarity=Neg" in self.tags[place])
            or (self.kind(place) in ("advmod", "det") and self.words[place].lower() in NEGATIONS)
        )

    def is_passive(self, place: int) -> bool:
        """Return whether a predicate has a passive auxiliary or subject."""
        return any(self.labels[child].endswith(":pass") for child in self.below[place])

    @cached_property
    def predicates(self) -> tuple[int, ...]:
        """Heads of clauses, in order.

        Those that hang on a word as clauses, those that have a subject, an object or a clause,
        verbs without a head; and what is joined to one of them, if it is a verb or its partner is
        none either.
        """
        chosen = {
            place
            for place in range(len(self.heads))
            if self.kind(place) in CLAUSES
            or (self.kind(place) == "root" and self.is_verb(place))
            or any(self.kind(child) in CORE for child in self.below[place])
        }
        chosen = {place for place in chosen if self.kind(place) not in ("punct", "aux", "cop")}
        for place in range(len(self.heads)):
            head = self.heads[place][0] - 1
            if self.kind(place) == "conj" and head in chosen:
                alike = self.is_verb(place) == self.is_verb(head)
                if self.is_verb(place) or (not self.tags and alike):
                    chosen.add(place)
        return tuple(sorted(chosen))

    def subject(self, place: int) -> int:
        """Return the subject of a predicate, perhaps that of the one it hangs on; -1: none.

        A clause without a subject (`xcomp`) takes the object of what it hangs on, or its subject;
        what is joined takes that of its partner.
        """
        for _ in range(len(self.heads)):
            own = [c for c in self.below[place] if self.kind(c) in ("nsubj", "csubj")]
            if own:
                return own[0]
            head = self.heads[place][0] - 1
            if head < 0 or self.kind(place) not in ("conj", "xcomp"):
                return -1
            if self.kind(place) == "xcomp":
                objects = [*self.parts(head, "iobj"), *self.parts(head, "obj")]
                if objects:
                    return objects[0]
            place = head
        return -1

    def role(self, place: int, predicate: int) -> str:
        """Return the role of what hangs on a predicate, empty if it is no argument."""
        label = self.labels[place]
        if self.negates(place):
            return "AM-NEG"
        role = ROLES.get(label) or ROLES.get(self.kind(place), "")
        if self.kind(place) in ("nsubj", "csubj") and self.is_passive(predicate):
            return "A1"
        if role == "AM" and self.is_passive(predicate) and "by" in self.cases(place):
            return "A0"
        return role

    def cases(self, place: int) -> list[str]:
        """Return the prepositions of a word, in lowercase."""
        return [self.words[child].lower() for child in self.parts(place, "case")]


def roles(sentence: Sentence) -> Structure:
    """Return the predicates of a sentence and their arguments, with all words below them."""
    return roles_tree((place, arguments(sentence, place)) for place in sentence.predicates)


def arguments(sentence: Sentence, predicate: int) -> tuple[Argument, ...]:
    """Return the arguments of a predicate in the order of their heads.

    Beside what hangs on it: the subject that it shares, and what a relative clause is about.
    """
    found: list[tuple[int, str, tuple[int, ...]]] = []
    for child in sentence.below[predicate]:
        role = sentence.role(child, predicate)
        if role:
            found.append((child, role, sentence.span(child)))
    subject = sentence.subject(predicate)
    if subject >= 0 and subject not in sentence.below[predicate]:
        role = "A1" if sentence.is_passive(predicate) else "A0"
        found.append((subject, role, sentence.span(subject, predicate)))
    head = sentence.heads[predicate][0] - 1
    if sentence.kind(predicate) == "acl" and head >= 0:
        taken = {role for _, role, _ in found}
        first = "A1" if sentence.is_passive(predicate) else "A0"
        free = next((role for role in (first, "A1") if role not in taken), "")
        if free:
            found.append((head, free, sentence.span(head, predicate)))
    return tuple((role, span) for _, role, span in sorted(found))
