"""Parses by UDPipe 1: tags and one dependency tree, a small model, no other program."""

from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, ClassVar

from annotated_types import Ge, Le
from pydantic.dataclasses import dataclass

from portmert.tuner.annotation.annotators import _conllu, _tokens
from portmert.tuner.annotation.annotators._conllu import Tagset
from portmert.tuner.base.errors import AnnotatorError
from portmert.tuner.base.extras import require
from portmert.tuner.texts import annotator as _base

from . import _workers

LIBRARY = "ufal.udpipe"


@dataclass(frozen=True)
class Udpipe(_workers.LibraryAnnotator):
    """Gives tags, features and one dependency tree by UDPipe (Straka and Strakova, 2017).

    Parameters
    ----------
    model : path
        A UDPipe 1 model.
    tagset : upos, xpos, upos+feats or xpos+feats
        The columns that make the tag of a word: language-specific (xpos) or universal (upos) parts
        of speech, with or without morphological features. Metrics need detailed tags: xpos for
        English; xpos+feats or upos+feats if the XPOS of the treebank is coarse or missing. An
        empty XPOS is replaced by UPOS, and vice versa.
    beam : 1 to 1024
        Beam of the parser. 1 is several times faster than the library's default of 5 and a little
        less accurate.
    contractions : boolean
        Show the parser `do n't` where the text has `don 't`, and undo the escapes of Moses.
    lowercase : boolean
        Show the parser lowercased words, for a model that was trained on lowercased text.
    """

    model: Path
    tagset: Tagset = "xpos"
    beam: Annotated[int, Ge(1), Le(1024)] = 5
    contractions: bool = True
    lowercase: bool = False

    gives: ClassVar[frozenset[_base.Layer]] = frozenset({"tags", "heads"})

    def _versions(self) -> str:
        require(LIBRARY, extra="syntax")
        version = import_module(LIBRARY).Version.current()
        return f"{version.major}.{version.minor}.{version.patch}{version.prerelease}"

    def _hashed(self) -> list[Path | str]:
        if not self.model.is_file():
            raise AnnotatorError(f"{self.model}: no such model; give one of UDPipe 1")
        return [self.model]


def load(options: dict[str, Any]) -> _workers.Parse:
    """Return a function that annotates sentences with a model.

    Raises
    ------
    AnnotatorError
        The file is no model.
    """
    model = import_module(LIBRARY).Model.load(options["model"])
    if model is None:
        raise AnnotatorError(f"{options['model']}: no model of UDPipe 1, or a damaged one")
    return lambda sentences, request: [
        _annotation(model, options, sentence, request) for sentence in sentences
    ]


def _annotation(
    model: Any,
    options: dict[str, Any],
    tokens: _workers.Sentence,
    request: _base.AnnotationRequest,
) -> _base.Annotation | None:
    udpipe = import_module(LIBRARY)
    sentence, error = udpipe.Sentence(), udpipe.ProcessingError()
    for word in _tokens.prepared(tokens, options):
        sentence.addWord(word)
    beam = f"beam_search={options['beam']}"
    parses = "heads" in request.layers
    is_parsed = model.tag(sentence, udpipe.Model.DEFAULT, error)
    if is_parsed and parses:
        is_parsed = model.parse(sentence, beam, error)
    if not is_parsed:
        raise AnnotatorError(f"{options['model']}: {' '.join(error.message.split())}")
    nodes = list(sentence.words)[1:]  # the first one is the root
    heads: _base.Heads = tuple((word.head, word.deprel) for word in nodes) if parses else ()
    if _base.heads_fault(heads):
        return None
    tags: tuple[str, ...] = ()
    if "tags" in request.layers:
        words = (_conllu.Word(word.form, word.upostag, word.xpostag, word.feats) for word in nodes)
        tags = tuple(_conllu.tag(word, options["tagset"]) or _conllu.NOTHING for word in words)
    return _base.Annotation(tags, heads)
