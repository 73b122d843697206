"""Check lists that a decoder gave, and bring them into the form that tuning reads."""

import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from portmert.metrics._base import Vocabulary, rows_taken

from ..base.errors import InputError
from ..base.warn import collected_notices
from ..components import registry
from ..nbest import check, read
from ..nbest.model import NBest, model_scores, nbest_lines, taken
from ..nbest.readers.moses import MosesReader
from ..nbest.records import ListFile, read_list
from ..texts.joining import positions
from ..weights.feature_weights import FeatureWeights

Lines = Sequence[tuple[int, bytes]]
"""Segments of the whole text, counted from 0, and the text of each."""


@dataclass(frozen=True)
class Fitting:
    """How lists of any format become Moses lists with the features that have weights.

    Parameters
    ----------
    weights
        The weights under which the lists were made.
    format
        The format of the lists, see `registry.reader`.
    scored
        Whether the lists' own scores count; otherwise they are weights . features.
    unscored
        How a user turns that off.
    """

    weights: FeatureWeights
    format: str = "auto"
    scored: bool = True
    unscored: str = "[decoder] scored = false"

    def moses_list(self, source: Path | ListFile, lines: Lines) -> bytes:
        """Return the list of some lines as Moses would write it, segments counted from 0.

        Raises
        ------
        InputError
            The list is not a whole one, or its features are not those that have weights.
        """
        file = source if isinstance(source, ListFile) else read_list(source)
        reader = registry.reader(self.format).detect(file)
        with collected_notices():
            nbest = read.read_nbest([file], Vocabulary(), segments=len(lines), reader=reader)
        _check(nbest, lines, file.where)
        absent_is_zero = bool(getattr(reader, "absent_is_zero", False))
        fitted = self.fitted(nbest, lines, where=file.where, absent_is_zero=absent_is_zero)
        if isinstance(reader, MosesReader) and fitted.model_scores is nbest.model_scores:
            return file.data  # it has been read, and is as Moses wrote it
        return b"".join(nbest_lines(fitted, where=file.where))

    def fitted(
        self, nbest: NBest, lines: Lines, *, where: str, absent_is_zero: bool = False
    ) -> NBest:
        """Return a list with the segments in the order of the lines, and the features' columns.

        Raises
        ------
        InputError
            A feature has no weight, a weight no feature, or a named segment no line; or the lists'
            own scores are not weights . features.
        """
        if nbest.ids is not None:
            nbest = _in_order(nbest, lines, where)
        sizes, weights = dict(nbest.feature_names), self.weights.values
        for name in sizes:
            if name not in weights:
                raise InputError(
                    f"{where}: feature {name} has no start weight (weights: "
                    f"{', '.join(weights)}); give it one, or leave it out"
                )
        sparse = set() if nbest.sparse is None else {*nbest.sparse.names}
        lacking = [
            feature
            for feature in self.weights.names
            if feature[0] not in sizes | dict.fromkeys(sparse)
        ]
        if lacking and not absent_is_zero:
            raise InputError(
                f"{where}: no feature {lacking[0][0]}, which has a weight (features: "
                f"{', '.join(sizes) or 'none'}); is it another decoder than before?"
            )
        if lacking:
            zeros = np.zeros((len(nbest.features), sum(size for _, size in lacking)))
            nbest = replace(
                nbest,
                features=np.asfortranarray(np.hstack([nbest.features, zeros])),
                feature_names=(*nbest.feature_names, *lacking),
            )
        if self.scored and nbest.model_scores.any():
            if fault := check.score_fault(nbest, self.weights).text:
                raise InputError(
                    f"{where}: {fault}; correct that, or give no scores ({self.unscored})"
                )
            return nbest
        scores = model_scores(nbest, self.weights, origin=where)
        return replace(nbest, model_scores=scores)


def usable(paths: Sequence[Path], lines: Lines) -> list[bytes]:
    """Return Moses lists; raise `InputError` if together they are no whole one to tune on."""
    nbest = read.read_nbest(paths, Vocabulary(), segments=len(lines))
    lists = [path.read_bytes() for path in paths]
    for path, data in zip(paths, lists, strict=True):
        if not data.endswith(b"\n"):
            raise InputError(f"{path}: the last line has no line end: the list is cut off")
    _check(nbest, lines, str(paths[0]))
    return lists


def _check(nbest: NBest, lines: Lines, where: str) -> None:
    sparse = nbest.sparse is not None and bool(nbest.sparse.values.any())
    if not nbest.features.any() and not sparse:
        raise InputError(f"{where}: all feature values are 0")
    if any(line.strip() for _, line in lines) and not nbest.texts.tokens.lengths.any():
        raise InputError(f"{where}: every hypothesis is empty")


def _in_order(nbest: NBest, lines: Lines, where: str) -> NBest:
    """Return lists whose segments have names in the order of the lines that begin with these."""
    line_of_name = {
        (line.decode("utf-8", "replace").split() or [""])[0]: n
        for n, (_, line) in enumerate(lines)
    }
    assert nbest.ids is not None  # noqa: S101  the caller looked
    places = positions(nbest.ids, line_of_name, where, "the first words of the source's lines")
    return taken(nbest, *rows_taken(nbest.offsets, np.argsort(places)))


def answers_of(data: bytes, lines: Lines) -> list[bytes]:
    """Return the rows of each line of a Moses list, with the ids of the whole text."""
    lists: list[list[bytes]] = [[] for _ in lines]
    for line in io.BytesIO(data):
        head, bars, fields = line.partition(b"|||")
        if bars:
            place = int(head)
            segment = head.replace(b"%d" % place, b"%d" % lines[place][0], 1)
            lists[place].append(b"%s|||%s\n" % (segment, fields.removesuffix(b"\n")))
    return [b"".join(rows) for rows in lists]
