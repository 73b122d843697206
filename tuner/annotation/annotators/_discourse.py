"""Builds discourse representations from dependency parses, by rules: an approximation.

In the manner of Boxer (Bos, "Wide-coverage semantic analysis with Boxer", STEP 2008): nouns and
names bring in referents with conditions, predicates events with relations to their arguments;
negation, universal quantifiers, conditionals, disjunction and clauses that are said or thought
open boxes. Symbols are lowercased words: there are no lemmas, senses or roles of a lexicon.
"""

from __future__ import annotations

from portmert.tuner.annotation.annotators._base import Structure
from portmert.tuner.annotation.annotators._meaning import Part, discourse_tree
from portmert.tuner.annotation.annotators._propositions import Sentence

EVERY = frozenset((
    "every", "each", "all", "any", "both", "jeder", "jede", "jedes", "jeden", "jedem", "alle",
    "tout", "toute", "tous", "toutes", "chaque", "todo", "toda", "todos", "todas", "cada",
    "ogni", "tutti", "tutte", "elke", "ieder", "iedere", "iga", "kõik",
))  # fmt: skip
"""Determiners of everything; the feature PronType=Tot tells it of other languages."""

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
"""Relations of roles; others are called by their preposition, or by their function."""

SILENT = frozenset((
    "punct", "case", "det", "aux", "cop", "mark", "cc", "clf", "expl", "fixed", "flat",
    "goeswith", "reparandum", "dep", "discourse",
))  # fmt: skip
"""What brings in nothing of its own."""


MOST_LEVELS = 60
"""Of a parse: beyond it, in output gone wild, no representation is built."""


def representation(sentence: Sentence) -> Structure | None:
    """Return the discourse representation of a sentence, None of one nested too deep."""
    if sentence.levels > MOST_LEVELS:
        return None
    builder = _Builder(sentence)
    root = Part("drs")
    for place in sentence.roots:
        builder.clause(place, root)
    try:
        return discourse_tree(root)
    except ValueError:
        return None


class _Builder:
    """Adds the conditions of words to boxes; every word once."""

    def __init__(self, sentence: Sentence) -> None:
        self._sentence = sentence
        self._predicates = frozenset(sentence.predicates)

    def clause(self, place: int, box: Part) -> None:
        """Add a word and all below it to a box, in boxes of its own where it opens some."""
        sentence = self._sentence
        conditions = [
            child
            for child in sentence.parts(place, "advcl")
            if any(sentence.words[m].lower() in IF for m in sentence.parts(child, "mark"))
        ]
        done = set(conditions)
        if conditions:
            box, first = self._implication(box)
            for child in conditions:
                self.clause(child, first)
        # What is said of everything: its noun is the condition, the rest follows from it.
        for child in sentence.below[place]:
            if child not in done and self._is_universal(child):
                box, first = self._implication(box)
                self._nominal(child, first)
                done.add(child)
        alternatives = [
            child
            for child in sentence.parts(place, "conj")
            if any(sentence.words[c].lower() in OR for c in sentence.parts(child, "cc"))
        ]
        if alternatives:
            either = Part("or")
            box.children.append(either)
            for child in alternatives:
                other = Part("drs")
                self.clause(child, other)
                done.add(child)
                either.children.append(other)
            box = Part("drs")
            either.children.insert(0, box)
        self._word(place, box, done)

    def _implication(self, box: Part) -> tuple[Part, Part]:
        """Add an implication to a box; return the box that follows, and that of the condition."""
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

    def _word(self, place: int, box: Part, done: set[int]) -> None:
        """Add a word and what is below it, but what is done, to a box."""
        if place in self._predicates:
            self._event(place, box, done)
        else:
            self._nominal(place, box, done)

    def _event(self, place: int, box: Part, done: set[int]) -> None:
        sentence = self._sentence
        below = [child for child in sentence.below[place] if child not in done]
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

    def _nominal(self, place: int, box: Part, done: set[int] | None = None) -> None:
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
            if (done and child in done) or sentence.kind(child) in SILENT:
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
        """Return a condition with its word, and those of a name of several words."""
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
