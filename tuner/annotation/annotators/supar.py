"""Parses with SuPar, experimental: expected links over all trees, and constituents."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from annotated_types import Gt
from pydantic.dataclasses import dataclass

from portmert.tuner.annotation.annotators import _brackets
from portmert.tuner.annotation.annotators._base import Annotation, Heads, Request, WeightedArc
from portmert.tuner.annotation.annotators._heads import ROOT
from portmert.tuner.annotation.annotators._library import LibraryAnnotator
from portmert.tuner.annotation.annotators._marginals import (
    FloatArray,
    flattened,
    tree_marginals,
    weighted_arcs,
)
from portmert.tuner.annotation.annotators._tokens import escaped, prepared
from portmert.tuner.annotation.annotators._workers import Parse
from portmert.tuner.ground.errors import AnnotatorError

DEPENDENCIES = ("biaffine-dependency", "crf-dependency")
"""Names of arc-factored dependency parsers."""

CONSTITUENTS = "crf-constituency"


@dataclass(frozen=True)
class Supar(LibraryAnnotator):
    """Gives expected links and heads, or trees, by a SuPar model; experimental.

    A dependency parser gives heads and expected links; a constituency parser gives trees, in
    which all parts of speech are `_`. Neither gives tags.

    Parameters
    ----------
    model
        A file that SuPar's training wrote: of a biaffine or CRF dependency parser, or a CRF
        constituency parser.
    trust_model
        Must be true. Such a file is a program (dill): loading one that somebody prepared can do
        anything you can.
    contractions
        Give the parser `do n't` for the text's `don 't`, and signs for what Moses escapes.
    min_count
        Of the expected links those that count less are left out, the others of a word scaled.
    """

    model: Path
    trust_model: bool = False
    contractions: bool = True
    min_count: Annotated[float, Gt(0)] = 1e-4

    libraries = ("supar", "torch")
    apart = frozenset({"model", "trust_model"})
    chunk = 32  # each is a batch of its own
    gives = frozenset({"heads", "marginals", "tree"})

    def __post_init__(self) -> None:
        """Check that the user knows what a model is.

        Raises
        ------
        ValueError
            `trust_model` is not true.
        """
        if not self.trust_model:
            raise ValueError(
                "a SuPar model is a program that runs when it is loaded; set trust_model = true "
                "if you trust where it comes from"
            )

    def _hashed(self) -> list[Path | str]:
        """Return the model."""
        if not self.model.is_file():  # SuPar would look for a model of that name to download
            raise AnnotatorError(
                f"{self.model}: no such model; SuPar's own programs train one, see "
                "docs/how-to/annotators.md"
            )
        return [self.model]


def load(options: dict[str, Any]) -> Parse:
    """Load a model in a worker."""
    import torch  # noqa: PLC0415  heavy and optional
    from supar import Parser  # noqa: PLC0415

    torch.set_num_threads(1)
    whole = torch.load
    # SuPar 1.1.4 is older than torch's rule that files hold nothing but numbers.
    torch.load = functools.partial(whole, weights_only=False)
    try:
        parser = Parser.load(options["model"])
    finally:
        torch.load = whole
    parser.model.eval()
    if parser.NAME == CONSTITUENTS:
        return _Constituents(parser, options).annotate
    if parser.NAME in DEPENDENCIES:
        return _Dependencies(parser, options).annotate
    raise AnnotatorError(
        f"{options['model']}: a SuPar model of kind {parser.NAME}; expected one of "
        f"{', '.join((*DEPENDENCIES, CONSTITUENTS))}"
    )


class _Loaded:
    """Holds what both kinds of models have in common."""

    can: frozenset[str]

    def __init__(self, parser: Any, options: dict[str, Any], fields: Sequence[Any]) -> None:
        self._parser = parser
        self._options = options
        self._word, *features = fields
        self._features = [field for field in features if field is not None]
        if "tag" in (parser.args.feat or ()):
            raise AnnotatorError(
                f"{options['model']}: the model wants tags as features; use one without"
            )

    def annotate(
        self, sentences: Sequence[Sequence[str]], request: Request
    ) -> list[Annotation | None]:
        """Return one answer a sentence."""
        import torch  # noqa: PLC0415

        if not request.layers <= self.can:
            raise AnnotatorError(
                f"{self._options['model']}: a SuPar model of kind {self._parser.NAME} gives "
                f"{', '.join(sorted(self.can))}, not "
                f"{', '.join(sorted(request.layers - self.can))}"
            )
        with torch.no_grad():
            # One by one: in a batch the last bits depend on the sentences beside it.
            return [self.one(words, request) for words in sentences]

    def one(self, words: Sequence[str], request: Request) -> Annotation | None:
        raise NotImplementedError

    def _scores(self, words: Sequence[str]) -> tuple[Any, Any]:
        given = prepared(words, contractions=self._options["contractions"], lowercase=False)
        tables = [
            field.compose(list(field.transform([given])))
            for field in (self._word, *self._features)
        ]
        first, second = self._parser.model(tables[0], tables[1:])
        return first, second


class _Dependencies(_Loaded):
    can = frozenset({"heads", "marginals"})

    def __init__(self, parser: Any, options: dict[str, Any]) -> None:
        form = parser.transform.FORM  # words, the text, and features that are None if not used
        super().__init__(parser, options, [form[0], *form[2:]])
        self._labels = [str(parser.REL.vocab[number]) for number in range(len(parser.REL.vocab))]
        self._projective = bool(parser.args.proj)

    def one(self, words: Sequence[str], request: Request) -> Annotation | None:
        arcs, labels = self._scores(words)
        heads: Heads = ()
        if "heads" in request.layers:
            heads = self._heads(arcs, labels)
        marginals = {}
        if "marginals" in request.layers:
            arc_table = arcs[0, 1:].double().numpy()
            label_table = labels[0, 1:].double().numpy()
            for gamma in request.gammas:
                marginals[gamma] = self._expected(arc_table, label_table, gamma)
        return Annotation(heads=heads, marginals=marginals)

    def _heads(self, arcs: Any, labels: Any) -> Heads:
        """Return the tree of the likeliest arcs, as SuPar's own prediction does."""
        import torch  # noqa: PLC0415

        if self._parser.NAME == "crf-dependency":
            best = arcs.clone()
            best[0, 1:] = torch.from_numpy(self._probable(arcs[0, 1:].double().numpy())).float()
        else:
            best = arcs
        mask = torch.ones(best.shape[:2], dtype=torch.bool)
        mask[:, 0] = False
        found, names = self._parser.model.decode(best, labels, mask, True, self._projective)  # noqa: FBT003
        return tuple(
            (head, self._labels[label] if head else ROOT)
            for head, label in zip(found[0, 1:].tolist(), names[0, 1:].tolist(), strict=True)
        )

    def _expected(
        self, arcs: FloatArray, labels: FloatArray, gamma: float
    ) -> tuple[WeightedArc, ...]:
        potentials, probabilities = flattened(arcs, labels, gamma)
        return weighted_arcs(
            self._probable(potentials),
            probabilities,
            self._labels,
            min_count=self._options["min_count"],
            root_label=ROOT,
        )

    def _probable(self, potentials: FloatArray) -> FloatArray:
        """Return the probability of each arc over the trees that the model was trained on."""
        if not self._projective:
            return tree_marginals(potentials)
        import torch  # noqa: PLC0415
        from supar import DependencyCRF  # noqa: PLC0415

        size = len(potentials)
        table = torch.zeros((1, size + 1, size + 1), dtype=torch.float64)
        table[0, 1:] = torch.from_numpy(potentials)
        with torch.enable_grad():
            found = DependencyCRF(table, torch.tensor([size])).marginals
        clipped = np.maximum(found[0, 1:].detach().numpy(), 0.0)
        probable: FloatArray = clipped / clipped.sum(axis=1, keepdims=True)
        return probable


class _Constituents(_Loaded):
    can = frozenset({"tree"})

    def __init__(self, parser: Any, options: dict[str, Any]) -> None:
        super().__init__(parser, options, parser.transform.WORD)

    def one(self, words: Sequence[str], request: Request) -> Annotation | None:
        del request
        import torch  # noqa: PLC0415
        from supar import ConstituencyCRF  # noqa: PLC0415
        from supar.utils.transform import Tree  # noqa: PLC0415

        spans, labels = self._scores(words)
        size = len(words) + 1  # the places between words
        mask = torch.ones((1, size, size), dtype=torch.bool).triu(1)
        with torch.enable_grad():
            spans = ConstituencyCRF(spans, mask[:, 0].sum(-1)).marginals.detach()
        (chart,) = self._parser.model.decode(spans, labels, mask)
        names = self._parser.CHART.vocab
        # Words that mean nothing to the library: ours go into the finished tree.
        plain = Tree.totree([f"w{place}" for place in range(len(words))], "TOP")
        built = Tree.build(plain, [(i, j, names[label]) for i, j, label in chart])
        tree = _brackets.parse(str(built))
        return Annotation(tree=str(tree.with_leaves([escaped(word) for word in words])))
