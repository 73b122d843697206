"""Parses by BLLIP, Charniak's parser: lists of trees with their probabilities."""

import math
import re
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Literal

from annotated_types import Ge
from pydantic.dataclasses import dataclass

from portmert.tuner.annotation.annotators import _tokens, _trees
from portmert.tuner.base.errors import AnnotatorError
from portmert.tuner.texts.annotator import Annotation, AnnotationRequest, Heads

from . import _workers

VOCABULARY, TERMS = "pSgT.txt", "terms.txt"
"""Files of every model: the words with their parts of speech, and the categories."""

PARSER_OPTIONS = ("overparsing", "language", "case_insensitive")
_QUOTES = ("``", "''")
_SPACE = re.compile(r"\s")


@dataclass(frozen=True)
class Bllip(_workers.LibraryAnnotator):
    """Gives trees, their dependency parses and tags by BLLIP (Charniak's first-stage parser).

    Parameters
    ----------
    model
        The folder of a parser model, or of a unified model, of which the `parser` is used.
    overparsing
        How long the parser continues after its first complete parse. Its time is roughly
        proportional to this number. The parser's own default is 21.
    language
        The parser's rules for unknown words: En, Ch or Ar.
    case_insensitive
        Whether the text has no capitals.
    contractions
        Show the parser `do n't` where the text has `don 't`, and undo the escapes of Moses.
    max_words
        Longer sentences count as unparsed. The parser takes no more than 398.
    """

    model: Path
    overparsing: Annotated[int, Ge(1)] = 10
    language: Literal["En", "Ch", "Ar"] = "En"
    case_insensitive: bool = False
    contractions: bool = True
    max_words: Annotated[int, Ge(1)] = 398

    libraries = ("bllipparser",)
    chunk = 16  # the parser takes seconds for so many
    gives = frozenset({"tags", "heads", "tree", "parses"})

    def _options(self) -> dict[str, Any]:
        return {**super()._options(), "model": str(_folder(self.model))}


def _folder(model: Path) -> Path:
    """Return the folder of the first-stage parser.

    Raises
    ------
    AnnotatorError
        There is none.
    """
    for folder in (model, model / "parser"):
        if (folder / TERMS).is_file() and (folder / VOCABULARY).is_file():
            return folder
    if model.exists():
        raise AnnotatorError(
            f"{model}: no {TERMS} and {VOCABULARY}; expected the folder of a BLLIP parser model"
        )
    raise AnnotatorError(
        f"{model}: no such folder; get an English model with: "
        "python -m bllipparser.ModelFetcher -i WSJ+Gigaword-v2 -d bllip, then give its folder"
    )


def load(options: dict[str, Any]) -> _workers.Parse:
    """Load a model in a worker; a process can load only one."""
    return _Parser(options).annotate


class _Parser:
    def __init__(self, options: dict[str, Any]) -> None:
        self._parser = import_module("bllipparser").RerankingParser()
        self._parser.load_parser_model(options["model"])
        self._options = options
        # The words of a model have either straight quotes or the treebank's quotes.
        words = (Path(options["model"]) / VOCABULARY).read_text("utf-8", "replace").splitlines()
        self._straight_quotes = any(line.startswith('"\t') for line in words)

    def annotate(
        self, sentences: Sequence[Sequence[str]], request: AnnotationRequest
    ) -> list[Annotation | None]:
        """Return one answer a sentence."""
        parser_options = {name: self._options[name] for name in PARSER_OPTIONS}
        most = request.parses if "parses" in request.layers else 1
        self._parser.set_parser_options(nbest=most, **parser_options)
        return [self._annotate(words, request) for words in sentences]

    def _annotate(self, words: Sequence[str], request: AnnotationRequest) -> Annotation | None:
        if (
            not 0 < len(words) <= self._options["max_words"]
        ):  # the parser dies of an empty sentence
            return None
        parses_of_parser = self._parser.parse(self._tokens_of_parser(words))
        if not parses_of_parser:
            return None
        trees = [_trees.parse(str(parse.ptb_parse)) for parse in parses_of_parser]
        layers, best = request.layers, trees[0]
        leaves = [
            _tokens.escaped(word) for word in words
        ]  # the words of the text, not those changed for the parser
        parses: list[tuple[float, Heads]] = []
        if "parses" in layers:
            # The parser's scores are logarithms to the base 2.
            parses = [
                (parse.parser_score * math.log(2), _trees.dependencies(tree))
                for parse, tree in zip(parses_of_parser, trees, strict=True)
            ]
        return Annotation(
            tags=tuple(best.tags) if "tags" in layers else (),
            heads=_trees.dependencies(best) if "heads" in layers else (),
            tree=str(best.with_leaves(leaves)) if "tree" in layers else "",
            parses=tuple(parses),
        )

    def _tokens_of_parser(self, words: Sequence[str]) -> list[str]:
        """Return the tokens as the parser's treebank writes them."""
        plain = _tokens.prepared(words, self._options)
        tokens = [_SPACE.sub("_", _tokens.escaped(word)) for word in plain]
        if self._straight_quotes:
            tokens = ['"' if word in _QUOTES else word for word in tokens]
        else:
            opening = True
            for place, word in enumerate(tokens):
                if word == '"':
                    tokens[place] = "``" if opening else "''"
                    opening = not opening
        return tokens
