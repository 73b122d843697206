"""Parses by spaCy: tags, dependency parses and, with a beam, weighted parses."""

import dataclasses
import math
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

from annotated_types import Ge
from pydantic.dataclasses import dataclass

from portmert.tuner.annotation.annotators import _conllu, _tokens
from portmert.tuner.annotation.annotators._conllu import Tagset
from portmert.tuner.annotation.annotators._trees import ROOT
from portmert.tuner.base.errors import AnnotatorError
from portmert.tuner.base.extras import require
from portmert.tuner.texts.annotator import Annotation, AnnotationRequest, Heads

from . import _workers

BEAMS_AT_ONCE = 128
"""Sentences whose beams are in memory at the same time."""


@dataclass(frozen=True)
class Spacy(_workers.LibraryAnnotator):
    """Gives tags, heads and weighted parses by a spaCy pipeline.

    Parameters
    ----------
    model
        The folder of a pipeline, or the name of an installed one (`en_core_web_sm`).
    tagset
        Detailed (xpos) or universal (upos) parts of speech, or these with features.
    beam_width
        Number of parses that the beam keeps, which is also the longest list of parses. If only the
        best parse is needed, greedy search is used, for which the parser was trained.
    contractions
        Show the pipeline `do n't` where the text has `don 't`, and undo the escapes of Moses.
    lowercase
        Show the pipeline lowercased words.
    any_version
        Use the pipeline even if it was made for another version of spaCy.
    """

    model: str
    tagset: Tagset = "xpos"
    beam_width: Annotated[int, Ge(1)] = 16
    contractions: bool = True
    lowercase: bool = False
    any_version: bool = False

    libraries = ("spacy",)
    apart = frozenset({"model", "any_version"})
    gives = frozenset({"tags", "heads", "parses"})

    def _options(self) -> dict[str, Any]:
        return {**super()._options(), "model": str(_folder(self.model))}


def _folder(model: str) -> Path:
    """Return where a pipeline is.

    Raises
    ------
    AnnotatorError
        It is not found.
    """
    require("spacy", extra="spacy")
    if (Path(model) / "config.cfg").is_file():
        return Path(model)
    spec = find_spec(model) if model.isidentifier() else None
    places = spec.submodule_search_locations if spec is not None else None
    folders = [path.parent for place in places or () for path in Path(place).glob("*/config.cfg")]
    if len(folders) == 1:
        return folders[0]
    if Path(model).exists():
        raise AnnotatorError(f"{model}: no config.cfg; expected the folder of a spaCy pipeline")
    get = "python -m spacy download en_core_web_sm"
    raise AnnotatorError(
        f"no spaCy pipeline '{model}': neither a folder nor installed; get one by name, such as "
        f"with: {get}; or train one, see the guide's page 'Syntax and meaning'"
    )


def load(options: dict[str, Any]) -> _workers.Parse:
    """Load a pipeline in a worker."""
    return _Pipeline(options).annotate


class _Pipeline:
    """A loaded pipeline.

    It works in batches. Their size changes no bit of an answer, because BLIS sums in one order.
    """

    def __init__(self, options: dict[str, Any]) -> None:
        spacy = import_module("spacy")  # heavy and optional
        self._options = options
        self._name = model = options["model"]
        meta = spacy.util.get_model_meta(model)
        versions = meta.get("spacy_version", "")
        is_compatible = import_module("spacy.util").is_compatible_version
        if not options["any_version"] and is_compatible(spacy.__version__, versions) is False:
            raise AnnotatorError(
                f"{model}: made for spaCy {versions}, this is {spacy.__version__}; get the "
                "pipeline of this version, or set any_version = true"
            )
        self._nlp = spacy.load(model)

    def annotate(
        self, sentences: Sequence[Sequence[str]], request: AnnotationRequest
    ) -> list[Annotation | None]:
        """Return one answer a sentence."""
        layers = request.layers
        if not layers <= {"tags"} and "parser" not in self._nlp.pipe_names:
            raise AnnotatorError(
                f"{self._name} has no parser, only {', '.join(self._nlp.pipe_names)}; use a "
                "pipeline with one"
            )
        # A document that has a parse is not parsed again, so the beam gets its own.
        docs = self._documents(sentences, parser="heads" in layers)
        answers = [
            Annotation(
                tags=self._tags(doc) if "tags" in layers else (),
                heads=_heads(doc) if "heads" in layers else (),
            )
            for doc in docs
        ]
        if "parses" in layers:
            ranked = self._parses(sentences, request.parses)
            return [
                dataclasses.replace(answer, parses=parses) if parses else None
                for answer, parses in zip(answers, ranked, strict=True)
            ]
        return list(answers)

    def _documents(self, sentences: Sequence[Sequence[str]], *, parser: bool) -> list[Any]:
        document = import_module("spacy.tokens").Doc
        docs = (
            # One sentence stays one, also if the parser would end it at a full stop.
            document(
                self._nlp.vocab,
                words=_tokens.prepared(words, self._options),
                sent_starts=[True] + [False] * (len(words) - 1),
            )
            for words in sentences
        )
        skipped = [name for name in self._nlp.pipe_names if name == "parser" and not parser]
        with self._nlp.select_pipes(disable=skipped):
            return list(self._nlp.pipe(docs))

    def _tags(self, doc: Any) -> tuple[str, ...]:
        tagset: Tagset = self._options["tagset"]
        tags = tuple(
            _conllu.tag(_conllu.Word(token.text, token.pos_, token.tag_, str(token.morph)), tagset)
            for token in doc
        )
        if not all(tags):
            raise AnnotatorError(
                f"{self._name} gives no part of speech of '{doc[tags.index('')]}'; it has "
                f"{', '.join(self._nlp.pipe_names)}; use a pipeline with a tagger"
            )
        return tags

    def _parses(
        self, sentences: Sequence[Sequence[str]], most: int
    ) -> Iterator[tuple[tuple[float, Heads], ...]]:
        parser = self._nlp.get_pipe("parser")
        docs = self._documents(sentences, parser=False)
        for start in range(0, len(docs), BEAMS_AT_ONCE):
            batch = docs[start : start + BEAMS_AT_ONCE]
            for doc, beam in zip(
                batch,
                parser.beam_parse(batch, beam_width=self._options["beam_width"]),
                strict=True,
            ):
                parses = parser.moves.get_beam_parses(beam)
                states = zip(beam.probs, beam.scores, strict=True)
                yield _ranked_parses(parses, states, len(doc))[:most]


def _heads(doc: Any) -> Heads:
    return tuple(
        (0, ROOT) if token.head.i == token.i else (token.head.i + 1, token.dep_) for token in doc
    )


def _ranked_parses(
    parses: Sequence[tuple[float, Sequence[tuple[int, int, str]]]],
    states: Iterable[tuple[float, float]],
    length: int,
) -> tuple[tuple[float, Heads], ...]:
    """Return log probabilities among the finished parses, and these.

    The beam's own probabilities are 0 for parses that are far behind, so its scores are used.

    Parameters
    ----------
    parses
        Probability and arcs of each finished state.
    states
        Probability and score of each state, finished or not, in the same order.
    """
    if length == 1:  # nothing to decide: such a beam has no parses
        return ((0.0, ((0, ROOT),)),)
    if not parses:
        return ()
    left = iter(states)
    scores = []
    for probability, _ in parses:
        score = next(
            (score for probability_of_beam, score in left if probability_of_beam == probability),
            None,
        )
        if score is None:
            raise AnnotatorError("spaCy's beam and its parses do not fit; use another version")
        scores.append(score)
    top = max(scores)
    whole = top + math.log(math.fsum(math.exp(score - top) for score in scores))
    ranked = []
    for (_, arcs), score in zip(parses, scores, strict=True):
        heads = [(0, ROOT)] * length
        for head, dependent, label in arcs:
            if head != dependent:
                heads[dependent] = (head + 1, label)
        ranked.append((score - whole, tuple(heads)))
    return tuple(sorted(ranked, key=lambda parse: -parse[0]))
