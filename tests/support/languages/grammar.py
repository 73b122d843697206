"""Derives a bitext between two made-up languages by a stochastic synchronous grammar.

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

from collections.abc import Sequence
from dataclasses import dataclass

from tests.support.languages.derivation import Leaf, Node, Pair, Phrase, pair
from tests.support.languages.lexicon import Chance, Lexicon, Verb

MAX_SOURCE_LENGTH = 12
"""Longer sentences are thrown away: decoding time grows with the square of the length."""


@dataclass(frozen=True)
class NounPhrase:
    """Holds a noun phrase and what other words agree with."""

    tree: Phrase
    plural: bool
    kind: int


class Grammar:
    """Derives sentences; the same seed gives the same sentences in the same order.

    Parameters
    ----------
    seed : int
        Of the words and of all choices.
    """

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
            noun = self._noun_phrase()
            parts["object"], kind = noun.tree, noun.kind
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
        return _in_order("S", parts, source=source, target=target, head="verb")

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
        return _in_order(
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
        return _in_order(
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
            forms = chance.choose(words.pronouns)
            leaf = self._word("PRON", forms.source, forms.target, _number(plural=forms.plural))
            return NounPhrase(Phrase("NP", (leaf,), (0,), (0,), 0, ("noun",)), forms.plural, 0)
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
        tree = _in_order(
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
            noun = self._noun_phrase(depth=1)
            parts["object"], kind = noun.tree, noun.kind
            parts["object case"] = Leaf("CASE", (self.words.object_case,))
        parts.update(self._verb_parts(verb, plural=plural, kind=kind, negatable=False))
        return _in_order(
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


def _in_order(
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
    pairs: list[Pair] = []
    sources: set[tuple[str, ...]] = set()
    targets: set[tuple[str, ...]] = set()
    while len(pairs) < count:
        pair = grammar.sentence()
        if len(pair.source) > MAX_SOURCE_LENGTH or pair.source in sources:
            continue
        if pair.target in targets:
            continue
        sources.add(pair.source)
        targets.add(pair.target)
        pairs.append(pair)
    return pairs
