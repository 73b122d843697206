"""Parses by Stanza: tags, dependency parses, expected links over all trees."""

import json
import tempfile
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from annotated_types import Gt
from pydantic.dataclasses import dataclass

from portmert.tuner.annotation.annotators import _conllu, _models, _tokens, _trees
from portmert.tuner.annotation.annotators._conllu import Tagset
from portmert.tuner.base.errors import AnnotatorError, counted
from portmert.tuner.texts.annotator import Annotation, AnnotationRequest, WeightedArc

from . import _workers
from ._marginals import (
    FloatArray,
    flattened,
    tree_marginals,
    weighted_arcs,
)

RESOURCES = "resources.json"
"""The list of models in a folder made by `stanza.download`."""


@dataclass(frozen=True)
class Stanza(_workers.LibraryAnnotator):
    """Gives tags, heads and expected links by a Stanza pipeline.

    Parameters
    ----------
    model
        The folder into which `stanza.download` wrote; not needed with `tagger` and `parser`.
    language
        Stanza's name of the language.
    package
        Name of one of the sets of models of the language.
    tagger, parser, embeddings
        Files of your own models: a tagger, a dependency parser, and the pretrained word vectors if
        they use any.
    tagset
        Detailed (xpos) or universal (upos) parts of speech, or these with features.
    contractions
        Show the pipeline `do n't` where the text has `don 't`, and undo the escapes of Moses.
    lowercase
        Show the pipeline lowercased words.
    min_count
        Expected links with a smaller count are left out; the word's other links are scaled up.
    """

    model: Path | None = None
    language: str = "en"
    package: str = "default"
    tagger: Path | None = None
    parser: Path | None = None
    embeddings: Path | None = None
    tagset: Tagset = "xpos"
    contractions: bool = True
    lowercase: bool = False
    min_count: Annotated[float, Gt(0)] = 1e-4

    libraries = ("stanza", "torch")
    apart = frozenset({"model", "tagger", "parser", "embeddings"})
    chunk = 32  # each is a batch of its own
    gives = frozenset({"tags", "heads", "marginals"})

    def __post_init__(self) -> None:
        """Check that one kind of model is given.

        Raises
        ------
        ValueError
            None is given, or both are.
        """
        if (self.tagger is None) != (self.parser is None):
            raise ValueError("tagger and parser belong together: give both, or model")
        if (self.model is None) == (self.parser is None):
            raise ValueError("give model, or tagger and parser")

    def _hashed(self) -> list[Path | str]:
        """Return the parts of the models on which the answers depend."""
        if self.model is None:
            return [path for path in (self.tagger, self.parser, self.embeddings) if path]
        listing = self.model / RESOURCES
        get = f"python -c \"import stanza; stanza.download('{self.language}', '{self.model}')\""
        if not listing.is_file() or not (self.model / self.language).is_dir():
            raise AnnotatorError(
                f"{self.model}: no Stanza models of language '{self.language}'; get them with: "
                f"{get}"
            )
        resources = json.loads(listing.read_text("utf-8")).get(self.language)
        return [
            self.model / self.language,
            _models.text_digest(json.dumps(resources, sort_keys=True)),
        ]


def load(options: dict[str, Any]) -> _workers.Parse:
    """Load a pipeline in a worker."""
    return _Pipeline(options).annotate


class _Pipeline:
    """A loaded pipeline, and the last scores of its parser."""

    def __init__(self, options: dict[str, Any]) -> None:
        self._options = options
        self._scores: tuple[Any, ...] = ()
        if "model" in options:
            self._run = self._load(options["model"], package=options["package"])
        else:
            with tempfile.TemporaryDirectory() as folder:
                # Stanza wants a list of its own models, also if it is given others.
                resources = {"lang_name": options["language"], "packages": {"default": {}}}
                resources["default_processors"] = {}
                listing = json.dumps({options["language"]: resources})
                (Path(folder) / RESOURCES).write_text(listing, "utf-8")
                self._run = self._load(
                    folder,
                    pos_model_path=options["tagger"],
                    depparse_model_path=options["parser"],
                    depparse_pretagged=True,  # without lemmas
                    **{
                        f"{processor}_pretrain_path": options["embeddings"]
                        for processor in ("pos", "depparse")
                        if "embeddings" in options
                    },
                )
        parser = self._run.processors["depparse"].trainer.model
        self._labels = _labels(parser)
        scores = getattr(parser, "forward_scores", None)
        self._has_scores = scores is not None
        if scores is not None:
            # The parser's own search starts from these scores, and drops all trees but one.
            def keep_scores(*arguments: Any) -> Any:
                self._scores = scores(*arguments)
                return self._scores

            parser.forward_scores = keep_scores

    def _load(self, folder: str, **options: Any) -> Any:
        processors = "tokenize,pos,lemma,depparse"
        if "pos_model_path" in options:
            processors = "tokenize,pos,depparse"
        return import_module("stanza").Pipeline(
            self._options["language"],
            dir=folder,
            processors=processors,
            download_method=None,
            tokenize_pretokenized=True,
            tokenize_no_ssplit=True,
            use_gpu=False,
            verbose=False,
            **options,
        )

    def annotate(
        self, sentences: Sequence[Sequence[str]], request: AnnotationRequest
    ) -> list[Annotation | None]:
        """Return one answer a sentence."""
        if "marginals" in request.layers and not self._has_scores:
            raise AnnotatorError(
                "this Stanza parser has no scores of arcs (an ensemble, or made of transitions); "
                "use a single graph-based one"
            )
        return [self._annotate(words, request) for words in sentences]

    def _annotate(self, words: Sequence[str], request: AnnotationRequest) -> Annotation | None:
        # Alone: in a batch the sums, and so the last bits, depend on the other sentences.
        prepared = _tokens.prepared(words, self._options)
        sentences = self._run([prepared]).sentences
        if len(sentences) != 1 or len(sentences[0].words) != len(words):
            return None
        layers = request.layers
        return Annotation(
            tags=self._tags(sentences[0].words) if "tags" in layers else (),
            heads=tuple((word.head, word.deprel) for word in sentences[0].words)
            if "heads" in layers
            else (),
            marginals={gamma: self._expected(len(words), gamma) for gamma in request.gammas}
            if "marginals" in layers
            else {},
        )

    def _tags(self, words: Sequence[Any]) -> tuple[str, ...]:
        tagset: Tagset = self._options["tagset"]
        tags = tuple(
            _conllu.tag(
                _conllu.Word(word.text, word.upos or "", word.xpos or "", word.feats or ""), tagset
            )
            for word in words
        )
        if not all(tags):
            raise AnnotatorError("this Stanza tagger gives no parts of speech; use another one")
        return tags

    def _expected(self, length: int, gamma: float) -> tuple[WeightedArc, ...]:
        arcs, labels = _tables(self._scores, length, len(self._labels))
        arcs, probabilities = flattened(arcs, labels, gamma)
        return weighted_arcs(
            tree_marginals(arcs),
            probabilities,
            self._labels,
            min_count=self._options["min_count"],
            root_label=_trees.ROOT,
        )


def _labels(parser: Any) -> list[str]:
    """Return the names of the columns of the parser's label scores."""
    first: int = import_module("stanza.models.common.vocab").VOCAB_PREFIX_SIZE
    vocabulary = parser.vocab["deprel"]
    return [vocabulary.id2unit(number) for number in range(first, len(vocabulary))]


def _tables(scores: tuple[Any, ...], length: int, labels: int) -> tuple[FloatArray, FloatArray]:
    """Return the scores of arcs (n, n + 1) and of their labels (n, n + 1, L).

    Stanza does not promise that `forward_scores` stays as it is, so shapes are checked.
    """
    arcs, names = (np.array(table.detach(), dtype=np.float64) for table in scores[:2])
    if arcs.shape != (1, length + 1, length + 1) or names.shape != (*arcs.shape, labels):
        raise AnnotatorError(
            f"Stanza's scores have shapes {arcs.shape} and {names.shape} for "
            f"{counted(length, 'word')} and {labels} labels; use stanza 1.15"
        )
    # The first row is the root's. The score of a word as its own head is -inf.
    arcs[0, range(length + 1), range(length + 1)] = 0.0
    return arcs[0, 1:], names[0, 1:]
