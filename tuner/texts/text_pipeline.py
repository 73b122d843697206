"""Text steps before scoring: they join subwords, and cut tokens as a metric wants them.

Steps as `hyp:debpe,13a` are applied in the order given, to hypotheses and references. A step with
`hyp:`, `ref:` or `src:` before it is applied to the hypotheses, the references or the source.

    lowercase     every token, Unicode
    nfc nfd nfkc nfkd
                  Unicode's normal forms
    unescape      XML escapes become characters: `&quot;`, `&#124;`, Moses' `&bar;`
    plain-punct   quotes, dashes and dots of print become those of ASCII
    no-punct      without punctuation (Unicode's categories P)
    no-brackets   without `[noise]` and `<unk>`
    drop=A+B      without the words A and B
    contractions  `don't` becomes `do not` (English)
    debpe         `token@@ s` becomes `tokens` (subword-nmt)
    spm-decode    sentencepiece pieces are joined: `_the _cat s` becomes `the cats` (_ is U+2581);
                  by the model if one is given, which also knows byte pieces
    spm-encode    the model cuts into pieces
    flores101 flores200 spBLEU-1K
                  cut into pieces as for spBLEU, by the given model or by the one that sacrebleu
                  keeps; spm-decode beside them looks at the sign _ only
    13a intl char zh ja-mecab ko-mecab
                  sacrebleu's tokenisers of these names

Links are kept: a new token has the links of all old tokens whose characters it has.
"""

from __future__ import annotations

import difflib
import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from portmert.metrics._base import IntArray, Ragged, Texts, Vocabulary, spans

from ..base.errors import ConfigError, InputError, suggest
from .corpus import with_words, without_duplicates
from .text_steps import CHARACTER_STEPS

TOKENISERS = {
    "13a": ("tokenizer_13a", "Tokenizer13a"),
    "intl": ("tokenizer_intl", "TokenizerV14International"),
    "char": ("tokenizer_char", "TokenizerChar"),
    "zh": ("tokenizer_zh", "TokenizerZh"),
    "ja-mecab": ("tokenizer_ja_mecab", "TokenizerJaMecab"),
    "ko-mecab": ("tokenizer_ko_mecab", "TokenizerKoMecab"),
}
"""Tokenisers of sacrebleu that need nothing from the network."""

FLORES = ("flores101", "flores200", "spBLEU-1K")
"""Tokenisers of sacrebleu with sentencepiece models, which it fetches from the network once."""

MODEL_STEPS = ("spm-encode", "spm-decode", *FLORES)
"""Steps that take a sentencepiece model."""
STEPS = (*CHARACTER_STEPS, "debpe", *MODEL_STEPS, *TOKENISERS)
DROP = "drop="
"""Begins the step that leaves words out: `drop=WORD+WORD`."""
SIDES = ("hyp", "ref")
"""The sides of a step that names none."""
Side = Literal["hyp", "ref", "src"]

MARK = "\u2581"
"""sentencepiece's sign for the space before a word."""
_JOINT = "@@"

Words = list[str]
Pairs = list[tuple[int, int]]


class TextStep(NamedTuple):
    """A step, and the sides to which it is applied."""

    name: str
    sides: tuple[str, ...]

    def __str__(self) -> str:
        return self.name if self.sides == SIDES else f"{self.sides[0]}:{self.name}"


@dataclass(frozen=True, eq=False)
class TextPipeline:
    """Steps that are applied to texts.

    Parameters
    ----------
    steps : tuple of TextStep
    model : Path or None
        The sentencepiece model of the spm and flores steps.
    """

    steps: tuple[TextStep, ...] = ()
    model: Path | None = None
    _known: dict[tuple[Vocabulary, tuple[str, ...], bool, bytes], _Changed] = field(
        default_factory=dict
    )

    @classmethod
    def from_names(cls, names: Sequence[str], model: Path | None = None) -> TextPipeline:
        """Return the pipeline of steps written `debpe`, `hyp:debpe` or `drop=WORD+WORD`.

        Raises
        ------
        ConfigError
            A step or side is unknown, or the model is missing or not used.
        """
        steps = []
        for text in names:
            before, drop, words = text.strip().partition(DROP)
            side, colon, name = before.rpartition(":")
            name += drop + words
            if colon and side not in get_args(Side):
                raise ConfigError(f"text step '{text}': before the colon stands hyp, ref or src")
            if name not in STEPS and not (name.startswith(DROP) and words.strip("+")):
                raise ConfigError(f"unknown text step '{name}'{suggest(name, STEPS)}")
            steps.append(TextStep(name, (side,) if colon else SIDES))
        spm = {step.name for step in steps if step.name in MODEL_STEPS}
        if "spm-encode" in spm and model is None:
            raise ConfigError("text step spm-encode needs a sentencepiece model")
        if model is not None and not spm:
            raise ConfigError(
                "a sentencepiece model is given, but no text step that takes one: "
                f"{', '.join(MODEL_STEPS)}"
            )
        cutting = sorted(spm - {"spm-decode"})
        if len(cutting) > 1:
            raise ConfigError(f"text steps {' and '.join(cutting)}: take one of them")
        return cls(tuple(steps), model)

    @classmethod
    def parse(cls, text: str, model: Path | None = None) -> TextPipeline:
        """Return the pipeline of steps joined by commas; an empty text has no steps."""
        return cls.from_names([name for name in text.split(",") if name.strip()], model)

    def __bool__(self) -> bool:
        return bool(self.steps)

    def __str__(self) -> str:
        names = ",".join(map(str, self.steps))
        return f"{names}({self.model.name})" if self.model is not None else names

    @property
    def signature(self) -> str:
        """Part of a score's signature: `case:mixed` or `case:lc`, and `text:` with the steps."""
        lowercases = [step.name == "lowercase" and step.sides != ("src",) for step in self.steps]
        case = "lc" if any(lowercases) else "mixed"
        if [str(step) for step in self.steps] in ([], ["lowercase"]):
            return f"case:{case}"
        return f"case:{case}|text:{self}"

    def applied(self, texts: Texts, side: Side) -> Texts:
        """Return hypotheses or references prepared for scoring, in the same vocabulary."""
        steps = self._steps(side)
        return self._applied(texts, steps, side) if steps else texts

    def source(self, lines: tuple[str, ...] | None) -> tuple[str, ...] | None:
        """Return the lines of the source, changed by its steps; without any, as they are."""
        steps = self._steps("src")
        if lines is None or not steps:
            return lines
        changed = self._applied(Texts.from_lines(lines, Vocabulary()), steps, "src")
        return tuple(" ".join(changed.words(row)) for row in range(len(changed)))

    def cased(self, texts: Texts, side: Side) -> Texts:
        """Return the tokens of texts prepared for scoring, but before they are lowercased.

        Last steps that lowercase are left out; the number of tokens is the same.
        """
        steps = self._steps(side)
        while steps and steps[-1] == "lowercase":
            steps.pop()
        return self._applied(Texts(texts.vocabulary, texts.tokens), steps, side)

    def _steps(self, side: str) -> list[str]:
        return [step.name for step in self.steps if side in step.sides]

    def _applied(self, texts: Texts, steps: list[str], side: str) -> Texts:
        """Apply the steps of a side to each distinct text, once in the life of a pipeline.

        Raises
        ------
        InputError
            There is spm-decode without a model, and no token looks like a piece.
        """
        if not steps:
            return texts
        if steps == ["lowercase"]:
            return with_words(texts, str.lower)  # the rest of the text does not matter
        vocabulary = texts.vocabulary
        starts, tokens = texts.tokens.offsets.tolist(), texts.tokens.values
        keys = [tokens[a:b].tobytes() for a, b in itertools.pairwise(starts)]
        cache, linked, names = self._known, texts.links is not None, tuple(steps)
        work = [self._function(name) for name in steps]
        if "spm-decode" in steps and not self._decodes_by_model:
            _check_pieces(texts, side)
        for row, key in enumerate(keys):
            if (vocabulary, names, linked, key) not in cache:
                cache[vocabulary, names, linked, key] = _changed(
                    texts.words(row), work, vocabulary, linked=linked
                )
        rows = [cache[vocabulary, names, linked, key] for key in keys]
        tokens_after = Ragged.from_rows([row.tokens for row in rows])
        if texts.links is None:
            return replace(texts, tokens=tokens_after)
        return replace(
            texts,
            tokens=tokens_after,
            links=_carried(texts.links, texts.tokens.lengths, [row.shared for row in rows]),
        )

    @property
    def _decodes_by_model(self) -> bool:
        return self.model is not None and not any(step.name in FLORES for step in self.steps)

    def _function(self, name: str) -> _Step:
        """Return what a step does."""
        if name in CHARACTER_STEPS:
            step = CHARACTER_STEPS[name]
            # Only ASCII white space ends a token, as in `Texts.from_lines`.
            return _Step(
                lambda words: [part.decode() for part in step(" ".join(words)).encode().split()]
            )
        if name.startswith(DROP):
            fillers = frozenset(name.removeprefix(DROP).split("+"))
            return _Step(
                lambda words: [word for word in words if word not in fillers],
                lambda word: "" if word in fillers else word,
            )
        if name == "debpe":
            return _Step(_without_joints, lambda word: word.removesuffix(_JOINT))
        if name == "spm-decode":
            return _Step(self._decoder(), lambda word: word.replace(MARK, ""))
        if name == "spm-encode" or name in FLORES:
            model = self._model(name)
            # A piece may have characters that count as white space elsewhere.
            return _Step(
                lambda words: " ".join(model.encode(" ".join(words), out_type=str)).split()
            )
        tokeniser = _tokeniser(name)
        return _Step(lambda words: tokeniser(" ".join(words)).split())

    def _decoder(self) -> Callable[[Words], Words]:
        if not self._decodes_by_model:
            return lambda words: "".join(words).replace(MARK, " ").split()
        model = self._model("spm-decode")
        return lambda words: str(model.decode(words)).split()

    def _model(self, step: str) -> Any:
        from sentencepiece import SentencePieceProcessor  # noqa: PLC0415  start-up time

        path = self.model or _kept_by_sacrebleu(step)
        try:
            return SentencePieceProcessor(model_file=str(path))
        except (OSError, RuntimeError, TypeError) as error:
            reason = str(error).splitlines()[0] if str(error) else "not readable"
            raise InputError(f"{path}: no sentencepiece model: {reason}") from None


def unknown_tokens(counts: IntArray, references: Texts) -> str | None:
    """Return one line if more than 30 % of the hypotheses' tokens are in no reference.

    Hypotheses and references are then probably tokenised in different ways. With fewer than 100
    tokens the share says nothing.

    Parameters
    ----------
    counts : (n,) int64
        Count of each token of the vocabulary in the hypotheses.
    """
    total = int(counts.sum())
    reference_tokens = references.tokens.alone().values
    if total < 100 or not len(reference_tokens):
        return None
    unknown = counts.copy()
    unknown[reference_tokens[reference_tokens < len(counts)]] = 0
    share = int(unknown.sum()) / total
    if share <= 0.3:
        return None
    unknown_words = np.flatnonzero(unknown)
    most = unknown_words[np.argsort(-unknown[unknown_words], kind="stable")[:5]]
    examples = " ".join(references.vocabulary.words[token] for token in most.tolist())
    return (
        f"{100 * share:.0f} % of the hypotheses' tokens stand in no reference (most often: "
        f"{examples}); are both tokenised alike? --text joins subwords and tokenises"
    )


def untokenised(references: Texts) -> str | None:
    """Return one line if most references, of 20 or more, end in a word with its full stop."""
    full = np.flatnonzero(references.tokens.lengths)
    if len(full) < 20:
        return None
    last = references.tokens.values[references.tokens.offsets[full + 1] - 1]
    words = [references.vocabulary.words[token] for token in last.tolist()]
    ends_of_words = [word for word in words if re.search("\\w[.!?\u3002\uff01\uff1f]$", word)]
    if len(ends_of_words) <= 0.5 * len(words):
        return None
    return (
        f"{100 * len(ends_of_words) / len(words):.0f} % of the references end in a token like "
        f"`{ends_of_words[0]}`: the text is not tokenised, and tokens are compared; --text 13a "
        f"(zh, ja-mecab, ...) tokenises"
    )


class _Step(NamedTuple):
    """What changes the words of a text, and what returns the part of an old word in new ones."""

    change: Callable[[Words], Words]
    visible_part: Callable[[str], str] = str


class _Changed(NamedTuple):
    """The new tokens of a text, and pairs (old position, new position) that share text.

    There are no pairs without links, or if the tokens do not change.
    """

    tokens: list[int]
    shared: Pairs | None


def _changed(
    words: Words, steps: Sequence[_Step], vocabulary: Vocabulary, *, linked: bool
) -> _Changed:
    """Return a text after the steps."""
    changed = words
    for step in steps:
        changed = step.change(changed)
    pairs = None
    if linked and changed != words:
        # From the first tokens to the last ones in one step: tokens that one step joins and the
        # next one cuts stay separate.
        visible = words
        for step in steps:
            visible = [step.visible_part(word) for word in visible]
        pairs = shared_characters(visible, changed)
    return _Changed([vocabulary.add(word) for word in changed], pairs)


def shared_characters(old_words: Sequence[str], new_words: Sequence[str]) -> Pairs:
    """Return pairs of old and new words that share characters.

    White space and U+2581 in new words do not count. If a step changed characters too, the changed
    ones count as coming from those in their place.
    """
    a = [(char, k) for k, word in enumerate(old_words) for char in word]
    b = [(char, k) for k, word in enumerate(new_words) for char in word if char != MARK]
    if len(a) == len(b) and all(
        x == y or x.lower() == y.lower() for (x, _), (y, _) in zip(a, b, strict=True)
    ):
        return sorted({(i, j) for (_, i), (_, j) in zip(a, b, strict=True)})
    matcher = difflib.SequenceMatcher(
        None, [char for char, _ in a], [char for char, _ in b], autojunk=False
    )
    pairs = set()
    for tag, a0, a1, b0, b1 in matcher.get_opcodes():
        if tag == "equal":
            pairs |= {(a[a0 + k][1], b[b0 + k][1]) for k in range(a1 - a0)}
        elif tag == "replace":
            pairs |= {(a[i][1], b[j][1]) for i in range(a0, a1) for j in range(b0, b1)}
    return sorted(pairs)


def _carried(links: Ragged, lengths: IntArray, pairs: Sequence[Pairs | None]) -> Ragged:
    """Return the links of new tokens, sorted, each once.

    Parameters
    ----------
    links : Ragged
        N rows of (source, old position).
    lengths : (N,) int64
        Old tokens of each text.
    pairs
        N lists of (old position, new position), by old position; None for unchanged texts.
    """
    begins = np.cumsum(lengths) - lengths
    shared = np.array(
        [
            (begin + old, new)
            for begin, row in zip(begins.tolist(), pairs, strict=True)
            for old, new in row or ()
        ],
        dtype=np.int64,
    ).reshape(-1, 2)
    same = np.flatnonzero(np.repeat([row is None for row in pairs], lengths))
    # For all texts: each old token, counted through, beside each of its new positions.
    old = np.concatenate([shared[:, 0], same])
    new = np.concatenate([shared[:, 1], same - np.repeat(begins, lengths)[same]])
    new = new[np.argsort(old, kind="stable")]
    counts = np.bincount(old, minlength=int(lengths.sum()))
    starts = np.cumsum(counts) - counts
    # Each link becomes as many links as its old token has new positions.
    values = links.alone().values.reshape(-1, 2)
    rows = np.repeat(np.arange(len(pairs)), links.lengths)
    token = begins[rows] + values[:, 1]
    times = counts[token]
    places, _ = spans(starts[token], times)
    new_links = np.column_stack([np.repeat(values[:, 0], times), new[places]])
    return without_duplicates(new_links.astype(np.int32), np.repeat(rows, times), len(pairs))


def _without_joints(words: Words) -> Words:
    joined: Words = []
    open_end = False
    for word in words:
        part = word.removesuffix(_JOINT)
        if open_end:
            joined[-1] += part
        else:
            joined.append(part)
        open_end = part != word
    return [word for word in joined if word]


def _check_pieces(texts: Texts, side: str) -> None:
    tokens = np.unique(texts.tokens.alone().values).tolist()
    words = texts.vocabulary.words
    if tokens and not any(MARK in words[token] for token in tokens):
        name = {"hyp": "hypotheses", "ref": "references", "src": "source"}[side]
        other_side = {"hyp": "ref", "ref": "hyp"}.get(side)
        raise InputError(
            f"text step spm-decode: no token of the {name} has the sign {MARK} of sentencepiece; "
            "if they are no pieces, "
            + (
                f"decode the other side only ({other_side}:spm-decode)"
                if other_side
                else "leave it out"
            )
        )


def _kept_by_sacrebleu(name: str) -> Path:
    """Return the model of a tokeniser that sacrebleu has fetched."""
    from sacrebleu import utils  # noqa: PLC0415  start-up time
    from sacrebleu.tokenizers.tokenizer_spm import SPM_MODELS  # noqa: PLC0415

    path = Path(utils.SACREBLEU_DIR, "models", SPM_MODELS[name]["url"].rpartition("/")[2])
    if not path.is_file():
        raise InputError(
            f"text step {name}: there is no {path}; name the model's file (--text-model), or let "
            f"sacrebleu fetch it, once: `sacrebleu REF -i HYP -tok {name}`"
        )
    return path


def _tokeniser(name: str) -> Callable[[str], str]:
    """Return sacrebleu's tokeniser."""
    import importlib  # noqa: PLC0415

    module, cls = TOKENISERS[name]
    try:
        built = getattr(importlib.import_module(f"sacrebleu.tokenizers.{module}"), cls)()
    except (ImportError, RuntimeError) as error:
        reason = re.sub(r"\s+", " ", str(error)).strip()
        raise InputError(f"text step {name}: {reason}") from None
    tokenise: Callable[[str], str] = built
    return tokenise
