"""Read tables with named columns."""

from collections.abc import Container, Iterator, Sequence
from typing import ClassVar

from pydantic.dataclasses import dataclass

from portmert.tuner.base import options
from portmert.tuner.base.columns import INDEX_KEYS, rows_of_table
from portmert.tuner.base.errors import suggest
from portmert.tuner.base.warn import warn
from portmert.tuner.nbest.readers._base import Reader, rank_in
from portmert.tuner.nbest.records import Hypothesis, ListFile

IDS = ("id", "segment", "seg_id", "sent_id")
TEXTS = ("hypothesis", "hyp", "text", "translation")
SCORES = ("model_score",)
LINKS = ("alignment", "links")


@dataclass(frozen=True)
class Tsv(Reader):
    """Read a line of column names, then a hypothesis a line; tabs separate columns.

    Parameters
    ----------
    id
        The column of ids, numbers from 0 or names. Default: `id`, `segment`, `seg_id`, `sent_id`.
    text
        The column of hypotheses. Default: `hypothesis`, `hyp`, `text` or `translation`.
    features
        The columns of scores, joined by `+`. Default: all other columns, but not the number of the
        hypothesis (`index`, `choice`, `rank`, `n` or `candidate`), which gives the order.
    score
        The column of the model's own score, which is not a feature. Default: `model_score`.
    links
        The column of word alignments `0-0 1-1`. Default: `alignment` or `links`.
    """

    id: str = ""
    text: str = ""
    features: str = ""
    score: str = ""
    links: str = ""

    title: ClassVar[str] = "TSV"
    joined: ClassVar[tuple[str, ...]] = ("features",)
    are_unique: ClassVar[bool] = True
    example: ClassVar[tuple[str, ...]] = (
        "id\thypothesis\tLM\n",
        "0\ta b\t-1.5\n",
        "0\tb\t-1\n",
        "1\t\t-2\n",
    )

    @classmethod
    def recognises(cls, head: Sequence[str]) -> bool:
        """Whether the first line names a column of ids and one of hypotheses."""
        names = head[0].split("\t")
        return any(name in names for name in IDS) and any(name in names for name in TEXTS)

    def records(self, file: ListFile) -> Iterator[Hypothesis]:
        """Yield the hypotheses of a whole file."""
        cells_of = (line.split("\t") for line in list(file.lines()))
        columns, *rows = rows_of_table(cells_of, file.where, "tabs")
        id_at = _index(file, columns, "id", self.id or _usual(columns, IDS))
        text_at = _index(file, columns, "text", self.text or _usual(columns, TEXTS))
        score = self.score or _usual(columns, SCORES)
        links = self.links or _usual(columns, LINKS)
        score_at = _index(file, columns, "score", score) if score else None
        links_at = _index(file, columns, "links", links) if links else None
        feature_names = options.names(self.features, "+")
        if len(set(feature_names)) < len(feature_names):
            file.fail_of_names(max(feature_names, key=feature_names.count))
        feature_at = [_index(file, columns, "features", name) for name in feature_names]
        no_features = {id_at, text_at, score_at, links_at}
        rank_at = _ranks_at(file, columns, rows, {*no_features, *feature_at})
        if not feature_names:
            feature_at = [k for k in range(len(columns)) if k not in no_features and k != rank_at]
        meanings = [f"column {name}" for name in columns]
        for number, cells in enumerate(rows, 2):
            yield Hypothesis(
                number,
                cells[id_at],
                cells[text_at],
                {columns[k]: file.number(number, cells[k], meanings[k]) for k in feature_at},
                0.0
                if score_at is None
                else file.number(number, cells[score_at], meanings[score_at]),
                None if links_at is None else file.links(number, cells[links_at]),
                rank=None if rank_at is None else int(cells[rank_at]),
            )


def _ranks_at(
    file: ListFile, columns: list[str], rows: list[list[str]], used: Container[int | None]
) -> int | None:
    """Return the column of the numbers of hypotheses; None if there is none."""
    for name in INDEX_KEYS:
        at = columns.index(name) if name in columns else None
        if at is None or at in used:
            continue
        numbers = [rank_in({name: cells[at]}) for cells in rows]
        if None not in numbers and (len(set(numbers)) > 1 or numbers[0] in (0, 1)):
            return at
        warn(
            f"{file.where}: column '{name}' has no numbers of hypotheses, so it is a feature; "
            f"if it is none, name the features: --nbest-format tsv:features=NAME+NAME"
        )
    return None


def _usual(columns: list[str], names: tuple[str, ...]) -> str:
    """Return the first of these names that a column has, or nothing."""
    return next((name for name in names if name in columns), "")


def _index(file: ListFile, columns: list[str], option: str, name: str) -> int:
    if not name:
        usual = {"id": IDS, "text": TEXTS}[option]
        file.fail(
            1,
            f"no column is named {' or '.join(usual)}; name the column in {option}= (columns: "
            f"{', '.join(columns)})",
        )
    if name not in columns:
        file.fail(1, f"there is no column '{name}' for {option}={suggest(name, columns)}")
    return columns.index(name)
