"""A bitext between two made-up languages, from a stochastic synchronous grammar.

The source language puts the verb last, has postpositions and case particles, and everything that
describes a noun before it; its nouns have no gender and no definite article. The target language
puts the verb second, has prepositions, articles and most adjectives that agree with the noun in
gender and number, verbs that agree with the subject, negation in two words around the verb, a
past of two words, verbs with a particle at the end of the clause, and clauses in another order.
Which word translates a verb depends on the object; some source words mean two things; some target
words have a synonym. So a decoder must reorder over long distances and choose, and never gets
everything right.

A sentence is derived as one tree whose nodes know the order of their children in both languages:
whatever one wants to know of a sentence (links now; tags, constituents, heads) follows from it.
"""

from __future__ import annotations

import random
from bisect import bisect
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

T = TypeVar("T")

MAX_SOURCE_LENGTH = 12
"""Longer sentences are thrown away: decoding time grows with the square of the length."""


# The derivation tree.


@dataclass(frozen=True)
class Leaf:
    """Words that belong together, next to each other in each language.

    Parameters
    ----------
    tag : str
        Part of speech.
    source, target : tuple of str
        Either may be empty: an article has no source word, a case particle no target word.
    concept : int or None
        Words of leaves with the same concept translate each other; None translates nothing.
    features : tuple of str
        What the target word's form shows, as `Number=Plur`.
    """

    tag: str
    source: tuple[str, ...] = ()
    target: tuple[str, ...] = ()
    concept: int | None = None
    features: tuple[str, ...] = ()


@dataclass(frozen=True)
class Phrase:
    """A node of the derivation.

    Parameters
    ----------
    label : str
    children : tuple of Node
    source_order, target_order : tuple of int
        Indices of the children, in the order of each language.
    head : int
        Index of the child that the others depend on.
    roles : tuple of str
        What each child is to the head, as `subject`.
    """

    label: str
    children: tuple[Node, ...]
    source_order: tuple[int, ...]
    target_order: tuple[int, ...]
    head: int
    roles: tuple[str, ...]

    def leaves(self, order: str) -> Iterator[Leaf]:
        """Yield the leaves in the order of one language, `source_order` or `target_order`."""
        for index in getattr(self, order):
            child = self.children[index]
            if isinstance(child, Leaf):
                yield child
            else:
                yield from child.leaves(order)


Node = Leaf | Phrase


@dataclass(frozen=True)
class Pair:
    """A sentence in both languages; `links` are (source, target) positions, sorted."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    links: tuple[tuple[int, int], ...]
    tree: Phrase


def pair(tree: Phrase) -> Pair:
    """Read a sentence off its derivation."""
    positions: list[dict[int, list[int]]] = [{}, {}]
    texts: list[list[str]] = [[], []]
    for side, order in enumerate(("source_order", "target_order")):
        for leaf in tree.leaves(order):
            words = leaf.target if side else leaf.source
            if leaf.concept is not None:
                start = len(texts[side])
                found = positions[side].setdefault(leaf.concept, [])
                found.extend(range(start, start + len(words)))
            texts[side].extend(words)
    links = sorted(
        (s, t)
        for concept, sources in positions[0].items()
        for s in sources
        for t in positions[1].get(concept, ())
    )
    return Pair(tuple(texts[0]), tuple(texts[1]), tuple(links), tree)


# The lexicon.


@dataclass(frozen=True)
class Noun:
    """A noun and its target stems, the usual one first."""

    source: str
    stems: tuple[str, ...]
    gender: int
    kind: int
    """What verbs select their translation by."""


@dataclass(frozen=True)
class Verb:
    """A verb, its target stems, and how they are chosen."""

    source: str
    stems: tuple[str, ...]
    transitive: bool
    particle: str | None
    by_object: tuple[str | None, ...]
    """Another stem for objects of a kind, None where there is no other."""


@dataclass(frozen=True)
class Adjective:
    """An adjective; few stand before the noun in the target language."""

    source: str
    stems: tuple[str, ...]
    before_noun: bool


@dataclass(frozen=True)
class Adverb:
    """An adverb; some begin the target clause."""

    source: str
    forms: tuple[str, ...]
    first: bool


@dataclass(frozen=True)
class Preposition:
    """A postposition of the source, a preposition of the target."""

    source: str
    forms: tuple[str, ...]


@dataclass(frozen=True)
class Pronoun:
    """A pronoun, always the subject."""

    source: str
    target: str
    plural: bool


KINDS = 3
"""Kinds of nouns."""


class Chance:
    """Random choices from `random.random` alone, whose sequence Python promises to keep."""

    def __init__(self, seed: int) -> None:
        self._next = random.Random(seed).random  # noqa: S311  not cryptography

    def happens(self, probability: float) -> bool:
        """Return True with this probability."""
        return self._next() < probability

    def below(self, limit: int) -> int:
        """Return a whole number in 0..limit-1."""
        return int(self._next() * limit)

    def choose(self, items: Sequence[T]) -> T:
        """Return one item, all alike."""
        return items[self.below(len(items))]

    def weighted(self, items: Sequence[T], cumulated: Sequence[float]) -> T:
        """Return one item by cumulated weights."""
        return items[bisect(cumulated, self._next() * cumulated[-1])]


class Spelling:
    """Makes pronounceable words, each once."""

    def __init__(self, chance: Chance, onsets: Sequence[str], nuclei: Sequence[str]) -> None:
        self._chance, self._onsets, self._nuclei = chance, onsets, nuclei
        self._used: set[str] = set()

    def word(self, syllables: int) -> str:
        """Return a new word, of a syllable more when the short ones run out."""
        for attempt in range(1_000):
            length = syllables + attempt // 100
            parts = (
                self._chance.choose(self._onsets) + self._chance.choose(self._nuclei)
                for _ in range(length)
            )
            made = "".join(parts)
            if made not in self._used:
                self._used.add(made)
                return made
        raise ValueError("the syllables are used up")


def zipf(count: int) -> list[float]:
    """Return cumulated weights 1 / (rank + 3) ** 0.9: few words are frequent, as in texts."""
    return list(accumulate((rank + 3.0) ** -0.9 for rank in range(count)))


@dataclass
class Lexicon:
    """All words of both languages, made from one seed."""

    chance: Chance
    sizes: dict[str, int] = field(
        default_factory=lambda: {
            "nouns": 60, "verbs": 30, "adjectives": 15, "adverbs": 8, "prepositions": 5,
        }
    )  # fmt: skip

    def __post_init__(self) -> None:
        chance = self.chance
        src = Spelling(chance, "kstnhmrgz", "aiueo")
        tgt = Spelling(chance, [*"bdflpvc", "tr", "pl", "br"], [*"aeio", "ou", "ie"])
        self._src, self._tgt = src, tgt
        # Grammatical words are short and made first.
        self.subject_case, self.object_case, self.genitive = (src.word(1) for _ in range(3))
        self.plural, self.negation, self.past, self.question = (src.word(1) for _ in range(4))
        self.one = src.word(1)
        self.that = (src.word(1), tgt.word(1))
        self.because = (src.word(2), tgt.word(2))
        self.and_ = (src.word(2), tgt.word(1))
        self.of, self.who, self.asks = (tgt.word(1) for _ in range(3))
        self.not_before, self.not_after, self.auxiliary = (tgt.word(1) for _ in range(3))
        self.definite = [[tgt.word(1) for _ in range(2)] for _ in range(2)]  # [gender][plural]
        self.indefinite = [tgt.word(1) for _ in range(2)]
        self.particles = [tgt.word(1) for _ in range(5)]
        self.pronouns = [Pronoun(src.word(2), tgt.word(1), bool(n % 2)) for n in range(6)]
        self.nouns = self._homographs([self._noun() for _ in range(self.sizes["nouns"])])
        self.verbs = [self._verb() for _ in range(self.sizes["verbs"])]
        self.saying = [self._verb(transitive=False) for _ in range(8)]
        self.adjectives = [
            Adjective(self._source(), self._forms(), chance.happens(0.25))
            for _ in range(self.sizes["adjectives"])
        ]
        self.adverbs = [
            Adverb(self._source(), self._forms(), chance.happens(0.5))
            for _ in range(self.sizes["adverbs"])
        ]
        self.prepositions = [
            Preposition(self._source(), self._forms()) for _ in range(self.sizes["prepositions"])
        ]
        self._cumulated: dict[int, list[float]] = {}

    def pick(self, items: Sequence[T]) -> T:
        """Choose a word, the first ones of a list more often."""
        count = len(items)
        if count not in self._cumulated:
            self._cumulated[count] = zipf(count)
        return self.chance.weighted(items, self._cumulated[count])

    def _source(self) -> str:
        return self._src.word(2 + self.chance.below(2))

    def _target(self) -> str:
        return self._tgt.word(2 + self.chance.below(2))

    def _forms(self) -> tuple[str, ...]:
        """Return a translation, and for every fourth word a synonym."""
        first = self._target()
        return (first, self._target()) if self.chance.happens(0.25) else (first,)

    def _noun(self) -> Noun:
        return Noun(self._source(), self._forms(), self.chance.below(2), self.chance.below(KINDS))

    def _homographs(self, nouns: list[Noun]) -> list[Noun]:
        """Give every eighth noun the source form of the next one."""
        return [
            Noun(after.source, noun.stems, noun.gender, noun.kind)
            if self.chance.happens(0.12)
            else noun
            for noun, after in pairwise([*nouns, nouns[0]])
        ]

    def _verb(self, *, transitive: bool | None = None) -> Verb:
        chance = self.chance
        return Verb(
            self._source(),
            self._forms(),
            chance.happens(0.7) if transitive is None else transitive,
            chance.choose(self.particles) if chance.happens(0.2) else None,
            tuple(self._target() if chance.happens(0.2) else None for _ in range(KINDS)),
        )


# The grammar.


@dataclass(frozen=True)
class NounPhrase:
    """A noun phrase and what other words agree with."""

    tree: Phrase
    plural: bool
    kind: int


class Grammar:
    """Derives sentences; the same seed gives the same sentences in the same order."""

    def __init__(self, seed: int) -> None:
        self.chance = Chance(seed)
        self.words = Lexicon(self.chance)
        self._concepts = 0

    def sentence(self) -> Pair:
        """Derive a sentence."""
        self._concepts = 0
        body: Phrase = self._clause()
        if self.chance.happens(0.10):
            body = self._two_clauses(body)
        if self.chance.happens(0.12):
            asks = self._concept()
            ask = Leaf("Q", (self.words.question,), (self.words.asks,), asks)
            end = Leaf("PUNCT", (".",), ("?",), self._concept())
            return pair(
                Phrase("S", (body, ask, end), (0, 1, 2), (1, 0, 2), 0, ("clause", "asks", "end"))
            )
        end = Leaf("PUNCT", (".",), (".",), self._concept())
        return pair(Phrase("S", (body, end), (0, 1), (0, 1), 0, ("clause", "end")))

    def _concept(self) -> int:
        self._concepts += 1
        return self._concepts

    def _word(self, tag: str, source: str, target: str, *features: str) -> Leaf:
        return Leaf(tag, (source,), (target,), self._concept(), features)

    def _form(self, forms: Sequence[str]) -> str:
        """Choose the usual translation, or now and then the synonym."""
        return forms[-1] if self.chance.happens(0.15) else forms[0]

    def _two_clauses(self, first: Phrase) -> Phrase:
        """Join two clauses: `because` turns their order around, `and` keeps it."""
        second = self._clause()
        if self.chance.happens(0.5):
            joint = self._word("CONJ", *self.words.and_)
            roles = ("clause", "joint", "second")
            return Phrase("S", (first, joint, second), (0, 1, 2), (0, 1, 2), 0, roles)
        joint = self._word("CONJ", *self.words.because)
        roles = ("reason", "joint", "clause")
        return Phrase("S", (first, joint, second), (0, 1, 2), (2, 1, 0), 2, roles)

    def _clause(self) -> Phrase:
        """Derive subject, verb and what goes with the verb."""
        subject = self._noun_phrase(pronoun=0.35)
        if self.chance.happens(0.08):
            return self._reported(subject)
        verb = self.words.pick(self.words.verbs)
        parts: dict[str, Node] = {
            "subject": subject.tree,
            "subject case": Leaf("CASE", (self.words.subject_case,)),
        }
        kind = None
        if verb.transitive:
            thing = self._noun_phrase()
            parts["object"], kind = thing.tree, thing.kind
            parts["object case"] = Leaf("CASE", (self.words.object_case,))
        if self.chance.happens(0.35):
            parts["where"] = self._prepositional()
        adverb = self.words.pick(self.words.adverbs) if self.chance.happens(0.25) else None
        if adverb is not None:
            parts["adverb"] = self._word("ADV", adverb.source, self._form(adverb.forms))
        verbal = self._verb_parts(verb, plural=subject.plural, kind=kind)
        parts.update(verbal)
        scrambled = "where" in parts and self.chance.happens(0.3)
        source = [
            *(["where"] if scrambled else []),
            *("subject", "subject case", "adverb"),
            *([] if scrambled else ["where"]),
            *("object", "object case", "verb", "negation", "tense"),
        ]
        early = adverb is not None and adverb.first
        target = [
            *(["adverb"] if early else []),
            *("subject", *_verb_order(verbal), "object", "where"),
            *([] if early else ["adverb"]),
            "particle",
        ]
        return _ordered("S", parts, source=source, target=target, head="verb")

    def _reported(self, subject: NounPhrase) -> Phrase:
        """Derive `subject says that clause`: in the source the whole clause stands in between."""
        verb = self.words.pick(self.words.saying)
        inner = self._simple_clause()
        parts: dict[str, Node] = {
            "subject": subject.tree,
            "subject case": Leaf("CASE", (self.words.subject_case,)),
            "that": self._word("COMP", *self.words.that),
            "clause": inner,
            **self._verb_parts(verb, plural=subject.plural, kind=None),
        }
        return _ordered(
            "S",
            parts,
            source=["subject", "subject case", "clause", "that", "verb", "negation", "tense"],
            target=["subject", *_verb_order(parts), "particle", "that", "clause"],
            head="verb",
        )

    def _simple_clause(self) -> Phrase:
        """Derive a clause of subject and verb."""
        subject = self._noun_phrase(depth=1, pronoun=0.5)
        parts: dict[str, Node] = {
            "subject": subject.tree,
            "subject case": Leaf("CASE", (self.words.subject_case,)),
            **self._verb_parts(
                self.words.pick(self.words.verbs), plural=subject.plural, kind=None
            ),
        }
        return _ordered(
            "S",
            parts,
            source=["subject", "subject case", "verb", "negation", "tense"],
            target=["subject", *_verb_order(parts), "particle"],
            head="verb",
        )

    def _verb_parts(
        self, verb: Verb, *, plural: bool, kind: int | None, negatable: bool = True
    ) -> dict[str, Node]:
        """Derive the verb with tense, negation and particle; `_verb_order` puts them in order."""
        stem = (verb.by_object[kind] if kind is not None else None) or self._form(verb.stems)
        past, negated = self.chance.happens(0.3), negatable and self.chance.happens(0.15)
        parts: dict[str, Node] = {}
        concept = self._concept()
        if past:
            auxiliary = self.words.auxiliary + ("n" if plural else "")
            parts["tense"] = self._word("AUX", self.words.past, auxiliary, _number(plural=plural))
            form, features = stem + "e", ("VerbForm=Part",)
        else:
            form, features = stem + ("nt" if plural else "t"), (_number(plural=plural),)
        parts["verb"] = Leaf("VERB", (verb.source,), (form,), concept, features)
        if negated:
            no = self._concept()
            parts["before"] = Leaf("NEG", (), (self.words.not_before,), no)
            parts["negation"] = Leaf("NEG", (self.words.negation,), (self.words.not_after,), no)
        if verb.particle is not None:
            parts["particle"] = Leaf("PRT", (), (verb.particle,), concept)
        return parts

    def _prepositional(self) -> Phrase:
        preposition = self.words.pick(self.words.prepositions)
        inner = self._noun_phrase(depth=1)
        case = self._word("ADP", preposition.source, self._form(preposition.forms))
        return Phrase("PP", (inner.tree, case), (0, 1), (1, 0), 1, ("inner", "case"))

    def _noun_phrase(self, *, depth: int = 0, pronoun: float = 0.0) -> NounPhrase:
        """Derive a noun with article, adjective, and at depth 0 a genitive or relative clause."""
        chance, words = self.chance, self.words
        if chance.happens(pronoun):
            one = chance.choose(words.pronouns)
            leaf = self._word("PRON", one.source, one.target, _number(plural=one.plural))
            return NounPhrase(Phrase("NP", (leaf,), (0,), (0,), 0, ("noun",)), one.plural, 0)
        noun, plural = words.pick(words.nouns), chance.happens(0.25)
        concept = self._concept()
        form = self._form(noun.stems) + ("s" if plural else "")
        number = _number(plural=plural)
        gender = "Gender=Fem" if noun.gender else "Gender=Masc"
        parts: dict[str, Node] = {
            "noun": Leaf("NOUN", (noun.source,), (form,), concept, (number,))
        }
        if plural and chance.happens(0.9):
            parts["plural"] = Leaf("PL", (words.plural,), (), concept)
        if plural or chance.happens(0.7):
            article = words.definite[noun.gender][plural]
            features = ("Definite=Def", gender, number)
            parts["article"] = Leaf("DET", (), (article,), features=features)
        else:
            one_word = words.indefinite[noun.gender]
            parts["article"] = self._word("DET", words.one, one_word, "Definite=Ind", gender)
        where = "after"
        if chance.happens(0.3):
            adjective = words.pick(words.adjectives)
            ending = ("a" if noun.gender else "") + ("s" if plural else "")
            form = self._form(adjective.stems) + ending
            parts["adjective"] = self._word("ADJ", adjective.source, form, gender, number)
            where = "before" if adjective.before_noun else "after"
        if depth == 0 and chance.happens(0.10):
            owner = self._noun_phrase(depth=1)
            of = self._word("ADP", words.genitive, words.of)
            parts["owner"] = Phrase("PP", (owner.tree, of), (0, 1), (1, 0), 1, ("inner", "case"))
        elif depth == 0 and chance.happens(0.10):
            parts["relative"] = self._relative(plural=plural)
        tree = _ordered(
            "NP",
            parts,
            source=["relative", "owner", "article", "adjective", "noun", "plural"],
            target=[
                "article",
                *(["adjective"] if where == "before" else []),
                "noun",
                *(["adjective"] if where == "after" else []),
                *("owner", "relative"),
            ],
            head="noun",
        )
        return NounPhrase(tree, plural, noun.kind)

    def _relative(self, *, plural: bool) -> Phrase:
        """Derive a relative clause whose subject is the noun: nothing marks it in the source."""
        verb = self.words.pick(self.words.verbs)
        parts: dict[str, Node] = {"who": Leaf("REL", (), (self.words.who,))}
        kind = None
        if verb.transitive:
            thing = self._noun_phrase(depth=1)
            parts["object"], kind = thing.tree, thing.kind
            parts["object case"] = Leaf("CASE", (self.words.object_case,))
        parts.update(self._verb_parts(verb, plural=plural, kind=kind, negatable=False))
        return _ordered(
            "SBAR",
            parts,
            source=["object", "object case", "verb", "tense"],
            target=["who", *_verb_order(parts), "object", "particle"],
            head="verb",
        )


def _number(*, plural: bool) -> str:
    return "Number=Plur" if plural else "Number=Sing"


def _verb_order(parts: dict[str, Node]) -> tuple[str, ...]:
    """Return the target order of a verb's words: negation stands around the inflected one."""
    if "tense" in parts:
        return ("before", "tense", "negation", "verb")
    return ("before", "verb", "negation")


def _ordered(
    label: str,
    parts: dict[str, Node],
    *,
    source: Sequence[str],
    target: Sequence[str],
    head: str,
) -> Phrase:
    """Build a phrase of those parts that are there, ordered by name in each language.

    A part that one language does not name has no word in it.
    """
    names = list(parts)
    return Phrase(
        label,
        tuple(parts.values()),
        tuple(names.index(name) for name in source if name in parts),
        tuple(names.index(name) for name in target if name in parts),
        names.index(head),
        tuple(names),
    )


def generate(count: int, *, seed: int) -> list[Pair]:
    """Return `count` sentence pairs, no two with the same source or the same target."""
    grammar = Grammar(seed)
    found: list[Pair] = []
    sources: set[tuple[str, ...]] = set()
    targets: set[tuple[str, ...]] = set()
    while len(found) < count:
        made = grammar.sentence()
        if len(made.source) > MAX_SOURCE_LENGTH or made.source in sources:
            continue
        if made.target in targets:
            continue
        sources.add(made.source)
        targets.add(made.target)
        found.append(made)
    return found
