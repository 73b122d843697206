"""Semantic roles and discourse representations from dependency parses, by rules: approximations.

Roles are in the manner of PredPatt (White et al., "Universal decompositional semantics on
Universal Dependencies", EMNLP 2016). Predicates are heads of clauses, and their arguments are the
words that depend on them. Roles have PropBank's names, chosen by grammatical function, without a
lexicon.

Discourse representations are in the manner of Boxer (Bos, "Wide-coverage semantic analysis with
Boxer", STEP 2008). Nouns and names introduce referents with conditions. Predicates introduce
events with relations to their arguments. Negation, universal quantifiers, conditionals,
disjunction and clauses that are said or thought open boxes. Symbols are lowercased words: there
are no lemmas, senses or roles of a lexicon.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from ...texts.annotator import Heads, Structure
from . import _meaning
from ._meaning import Part

OLD = {
    "nsubjpass": "nsubj:pass", "csubjpass": "csubj:pass", "auxpass": "aux:pass", "dobj": "obj",
    "dative": "iobj", "neg": "advmod:neg", "relcl": "acl:relcl", "agent": "obl:agent",
    "pobj": "obl", "oprd": "xcomp", "acomp": "xcomp", "npadvmod": "obl", "tmod": "obl:tmod",
}  # fmt: skip
"""Today's label for each label of the first Universal Dependencies, and of English pipelines."""

CLAUSES = ("ccomp", "xcomp", "csubj", "advcl", "acl", "parataxis")
"""Labels of predicates: they depend on another word by one of these."""

CORE = ("nsubj", "csubj", "obj", "iobj", "ccomp", "xcomp")
"""Labels of dependents that make a word a predicate."""

ROLES = {
    "nsubj": "A0", "csubj": "A0", "obj": "A1", "ccomp": "A1", "xcomp": "A1", "iobj": "A2",
    "obl": "AM", "advmod": "AM-ADV", "advcl": "AM-ADV", "obl:tmod": "AM-TMP",
    "advmod:neg": "AM-NEG", "obl:agent": "A0", "nsubj:pass": "A1", "csubj:pass": "A1",
    "discourse": "AM-DIS", "vocative": "AM-DIS",
}  # fmt: skip
"""Role for each label, or for the part of the label before its colon."""

NEGATIONS = frozenset((
    "not", "n't", "no", "never", "neither", "nor", "cannot", "nothing", "nobody", "none",
    "n\u2019t", "nicht", "nie", "niemals", "kein", "keine", "keinen", "keinem", "keiner", "keines",
    "ne", "pas", "jamais", "non", "mai", "nunca", "não", "niet", "nooit", "geen", "inte",
    "aldrig", "ikke", "nie", "ei", "mitte",
))  # fmt: skip
"""Words that negate. In other languages labels (`advmod:neg`) and features (Polarity=Neg) show it.

Some of these words mean something else in another language: the language is not asked for.
"""

EVERY = frozenset((
    "every", "each", "all", "any", "both", "jeder", "jede", "jedes", "jeden", "jedem", "alle",
    "tout", "toute", "tous", "toutes", "chaque", "todo", "toda", "todos", "todas", "cada",
    "ogni", "tutti", "tutte", "elke", "ieder", "iedere", "iga", "kõik",
))  # fmt: skip
"""Determiners of everything; in other languages the feature PronType=Tot shows it."""

IF = frozenset((
    "if", "unless", "wenn", "falls", "si", "se", "als", "kui", "jos", "om", "hvis", "jestli",
    "jeśli",
))  # fmt: skip
"""Words that begin a condition."""

OR = frozenset((
    "or", "oder", "ou", "o", "of", "eller", "või", "tai", "ali", "nebo", "lub",
))  # fmt: skip
"""Words that join alternatives."""

THEMATIC = {"A0": "agent", "A1": "theme", "A2": "recipient", "AM-TMP": "time"}
"""Relation for each role; others have the name of their preposition, or of their function."""

SILENT = frozenset((
    "punct", "case", "det", "aux", "cop", "mark", "cc", "clf", "expl", "fixed", "flat",
    "goeswith", "reparandum", "dep", "discourse",
))  # fmt: skip
"""Labels of words that introduce nothing of their own."""


MOST_LEVELS = 60
"""No representation is built for a parse with more levels: it is certainly wrong."""


@dataclass(frozen=True)
class Sentence:
    """A dependency parse of one sentence; tags are empty if there are none."""

    words: Sequence[str]
    heads: Heads
    tags: tuple[str, ...] = ()

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The labels, as in Universal Dependencies today."""
        return tuple(OLD.get(label.lower(), label.lower()) for _, label in self.heads)

    @cached_property
    def below(self) -> tuple[tuple[int, ...], ...]:
        """The words that depend on each word, in order."""
        dependents: list[list[int]] = [[] for _ in self.heads]
        for place, (head, _) in enumerate(self.heads):
            if head:
                dependents[head - 1].append(place)
        return tuple(map(tuple, dependents))

    @cached_property
    def roots(self) -> tuple[int, ...]:
        """The words without a head."""
        return tuple(place for place, (head, _) in enumerate(self.heads) if not head)

    @property
    def levels(self) -> int:
        """The greatest number of words one below the other."""
        level, row = 0, list(self.roots)
        while row:
            level, row = level + 1, [child for place in row for child in self.below[place]]
        return level

    def kind(self, place: int) -> str:
        """Return the label of a word up to its colon."""
        return self.labels[place].partition(":")[0]

    def parts(self, place: int, kind: str) -> list[int]:
        """Return the words that depend on a word by labels of a kind."""
        return [child for child in self.below[place] if self.kind(child) == kind]

    def span(self, place: int, without: int = -1) -> tuple[int, ...]:
        """Return a word and the words below it, in order, but not `without` and those below that.

        Punctuation at both ends is left out.
        """
        span, todo = [], [place]
        while todo:
            word = todo.pop()
            if word != without:
                span.append(word)
                todo += self.below[word]
        span.sort()
        while len(span) > 1 and self.kind(span[0]) == "punct":
            span.pop(0)
        while len(span) > 1 and self.kind(span[-1]) == "punct":
            span.pop()
        return tuple(span)

    def is_verb(self, place: int) -> bool:
        """Return whether the tag of a word, if it has one, is a verb's in some tagset."""
        return bool(self.tags) and self.tags[place][:1] in ("V", "v")

    def negates(self, place: int) -> bool:
        """Return whether a word negates."""
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
        """The heads of clauses, in order.

        A word is a predicate if it depends on another word as a clause, if it has a subject, an
        object or a clause, or if it is a verb without a head. A word that is joined to a predicate
        is one too, if it is a verb or if its partner is no verb either.
        """
        predicates = {
            place
            for place in range(len(self.heads))
            if self.kind(place) in CLAUSES
            or (self.kind(place) == "root" and self.is_verb(place))
            or any(self.kind(child) in CORE for child in self.below[place])
        }
        predicates = {
            place for place in predicates if self.kind(place) not in ("punct", "aux", "cop")
        }
        for place in range(len(self.heads)):
            head = self.heads[place][0] - 1
            if self.kind(place) == "conj" and head in predicates:
                alike = self.is_verb(place) == self.is_verb(head)
                if self.is_verb(place) or (not self.tags and alike):
                    predicates.add(place)
        return tuple(sorted(predicates))

    def subject(self, place: int) -> int:
        """Return the subject of a predicate, or of the predicate above it; -1: none.

        A clause without a subject (`xcomp`) takes the object of what it hangs on, or its subject;
        a joined word takes the subject of its partner.
        """
        for _ in range(len(self.heads)):
            subjects = [c for c in self.below[place] if self.kind(c) in ("nsubj", "csubj")]
            if subjects:
                return subjects[0]
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
        """Return the role of a dependent of a predicate, or an empty text if it is no argument."""
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
    return _meaning.roles_tree(
        (place, arguments(sentence, place)) for place in sentence.predicates
    )


def arguments(sentence: Sentence, predicate: int) -> tuple[_meaning.Argument, ...]:
    """Return the arguments of a predicate in the order of their heads.

    They are its dependents, a subject that it shares, and the noun that a relative clause
    describes.
    """
    arguments_so_far: list[tuple[int, str, tuple[int, ...]]] = []
    for child in sentence.below[predicate]:
        role = sentence.role(child, predicate)
        if role:
            arguments_so_far.append((child, role, sentence.span(child)))
    subject = sentence.subject(predicate)
    if subject >= 0 and subject not in sentence.below[predicate]:
        role = "A1" if sentence.is_passive(predicate) else "A0"
        arguments_so_far.append((subject, role, sentence.span(subject, predicate)))
    head = sentence.heads[predicate][0] - 1
    if sentence.kind(predicate) == "acl" and head >= 0:
        roles = {role for _, role, _ in arguments_so_far}
        first = "A1" if sentence.is_passive(predicate) else "A0"
        free = next((role for role in (first, "A1") if role not in roles), "")
        if free:
            arguments_so_far.append((head, free, sentence.span(head, predicate)))
    return tuple((role, span) for _, role, span in sorted(arguments_so_far))


def representation(sentence: Sentence) -> Structure | None:
    """Return the discourse representation of a sentence; None if it is nested too deep."""
    if sentence.levels > MOST_LEVELS:
        return None
    builder = _Builder(sentence)
    root = Part("drs")
    for place in sentence.roots:
        builder.clause(place, root)
    try:
        return _meaning.discourse_tree(root)
    except ValueError:
        return None


class _Builder:
    """Adds the conditions of words to boxes, each word once."""

    def __init__(self, sentence: Sentence) -> None:
        self._sentence = sentence
        self._predicates = frozenset(sentence.predicates)

    def clause(self, place: int, box: Part) -> None:
        """Add a word and all words below it to a box; words that open boxes go into those."""
        sentence = self._sentence
        conditions = [
            child
            for child in sentence.parts(place, "advcl")
            if any(sentence.words[m].lower() in IF for m in sentence.parts(child, "mark"))
        ]
        used = set(conditions)
        if conditions:
            box, first = self._implication(box)
            for child in conditions:
                self.clause(child, first)
        # "Every man comes": the noun is the condition, and the rest follows from it.
        for child in sentence.below[place]:
            is_name = sentence.kind(child) == "flat"  # a part of the condition of `place`
            if child not in used and not is_name and self._is_universal(child):
                box, first = self._implication(box)
                self._nominal(child, first)
                used.add(child)
        alternatives = [
            child
            for child in sentence.parts(place, "conj")
            if any(sentence.words[c].lower() in OR for c in sentence.parts(child, "cc"))
        ]
        if alternatives:
            either = Part("or")
            box.children.append(either)
            for child in alternatives:
                inner = Part("drs")
                self.clause(child, inner)
                used.add(child)
                either.children.append(inner)
            box = Part("drs")
            either.children.insert(0, box)
        self._word(place, box, used)

    def _implication(self, box: Part) -> tuple[Part, Part]:
        """Add an implication to a box; return the box that follows, and the condition's box."""
        first, then = Part("drs"), Part("drs")
        box.children.append(Part("imp", children=[first, then]))
        return then, first

    def _is_universal(self, place: int) -> bool:
        sentence = self._sentence
        return any(
            sentence.words[child].lower() in EVERY
            or (bool(sentence.tags) and "PronType=Tot" in sentence.tags[child])
            for child in sentence.parts(place, "det")
        )

    def _word(self, place: int, box: Part, used: set[int]) -> None:
        """Add a word to a box, and the words below it that are not done yet."""
        if place in self._predicates:
            self._event(place, box, used)
        else:
            self._nominal(place, box, used)

    def _event(self, place: int, box: Part, used: set[int]) -> None:
        sentence = self._sentence
        below = [child for child in sentence.below[place] if child not in used]
        subjects = [child for child in below if sentence.kind(child) in ("nsubj", "csubj")]
        for child in subjects:  # outside of a negation
            self._word(child, box, set())
        negations = [child for child in below if sentence.negates(child)]
        for child in negations:
            inner = Part("drs")
            box.children.append(Part("not", words=[("word", child)], children=[inner]))
            box = inner
        box.words.append(("referent", place))
        box.children.append(self._condition("pred", place))
        linked = [child for child in sentence.below[place] if child not in negations]
        for child in linked:
            role = sentence.role(child, place)
            if role and sentence.kind(child) != "advcl":
                self._relation(self._name(role, child), place, child, box)
        shared = sentence.subject(place)
        if shared >= 0 and shared not in sentence.below[place]:
            role = "A1" if sentence.is_passive(place) else "A0"
            self._relation(THEMATIC[role], place, shared, box)
        for child in below:
            if child in subjects or child in negations or sentence.kind(child) in SILENT:
                continue
            if sentence.kind(child) in ("ccomp", "xcomp") and child in self._predicates:
                inner = Part("drs")
                box.children.append(Part("prop", words=[("arg", child)], children=[inner]))
                self.clause(child, inner)
            elif sentence.kind(child) in ("conj", "advcl", "parataxis"):
                self.clause(child, box)
            else:
                self._word(child, box, set())

    def _nominal(self, place: int, box: Part, used: set[int] | None = None) -> None:
        sentence = self._sentence
        kind = sentence.kind(place)
        box_of_own = kind not in ("advmod", "amod", "nummod")
        if box_of_own:
            box.words.append(("referent", place))
        if kind == "nummod":
            box.children.append(self._condition("card", place))
        else:
            tag = "named" if self._is_name(place) else "pred"
            box.children.append(self._condition(tag, place))
        for child in sentence.below[place]:
            if (used and child in used) or sentence.kind(child) in SILENT:
                continue
            if sentence.negates(child):
                box.children.append(Part("not", words=[("word", child)]))
            elif sentence.kind(child) in ("nmod", "compound", "appos"):
                name = "_".join(sentence.cases(child)) or sentence.kind(child)
                self._relation(name, place, child, box)
                self._word(child, box, set())
            elif child in self._predicates:
                self._relation("about", child, place, box)
                self.clause(child, box)
            else:
                self._word(child, box, set())

    def _is_name(self, place: int) -> bool:
        sentence = self._sentence
        if sentence.tags:
            return sentence.tags[place].startswith(("PROPN", "NNP", "NP", "NE"))
        return place > 0 and sentence.words[place][:1].isupper()

    def _condition(self, tag: str, place: int) -> Part:
        """Return a condition with its word, or with all words of a name."""
        sentence = self._sentence
        parts = [place, *(c for c in sentence.below[place] if sentence.kind(c) == "flat")]
        symbol = "~".join(sentence.words[part].lower() for part in sorted(parts))
        return Part(tag, symbol=symbol, words=[("word", part) for part in sorted(parts)])

    def _name(self, role: str, place: int) -> str:
        cases = self._sentence.cases(place)
        return THEMATIC.get(role) or "_".join(cases) or self._sentence.kind(place)

    def _relation(self, name: str, first: int, second: int, box: Part) -> None:
        words: list[tuple[str, int | str]] = [
            *(("word", child) for child in self._sentence.parts(second, "case")),
            ("arg1", first),
            ("arg2", second),
        ]
        box.children.append(Part("rel", symbol=name, words=words))
