"""Word alignments made elsewhere, from a file."""

from collections.abc import Sequence
from pathlib import Path

from pydantic.dataclasses import dataclass

from portmert.tuner.base.columns import column_of
from portmert.tuner.base.errors import InputError, counted
from portmert.tuner.base.files import called, read_lines

from ._base import (
    SUBTRACT,
    Aligner,
    Links,
    counts_from_one,
    has_a3,
    link_lines,
    parse_links,
    tokens,
    warn_of_base,
)
from ._symmetrize import Heuristic, symmetrize


@dataclass(frozen=True)
class Precomputed(Aligner):
    """Reads links from a file of Pharaoh lines (`0-0 1-2`, source-target, 0-based).

    The file belongs to one bitext: line n has the links of pair n. Links of both directions are
    joined as Moses' symal does it.

    Parameters
    ----------
    links : Path
        The file, plain, .gz or .xz, or FILE#KEY of JSON lines, FILE.tsv#COLUMN of a table. Each
        pair has a line, which is empty if it has no links.
    reverse : Path
        Links of the other direction: source-target as well, as fast_align -r and eflomal write
        them, or GIZA++'s A3 file, whose sides are exchanged.
    symmetrization : str
        How both are joined: "intersection", "union", "grow-diag-final-and" or another of symal's.
    """

    links: Path
    reverse: Path | None = None
    symmetrization: Heuristic = "grow-diag-final-and"

    def align(
        self,
        *,
        source: Sequence[str],
        target: Sequence[str],
        workdir: Path,  # noqa: ARG002  nothing to keep
    ) -> list[Links]:
        """Return the links of the file, or of both.

        Raises
        ------
        InputError
            A file has another number of lines than the bitext, a line is not one of links, or
            a link points past the end of its sentence.
        ValueError
            `source` and `target` differ in length.
        """
        if len(source) != len(target):
            raise ValueError(f"{len(source)} source lines, {len(target)} target lines")
        lengths = [(len(tokens(s)), len(tokens(t))) for s, t in zip(source, target, strict=True)]
        rows = _rows(self.links, lengths)
        if self.reverse is None:
            return rows
        pairs = zip(rows, _rows(self.reverse, lengths, is_reverse=True), strict=True)
        return [symmetrize(self.symmetrization, by_source=s, by_target=t) for t, s in pairs]


def _rows(
    path: Path, lengths: Sequence[tuple[int, int]], *, is_reverse: bool = False
) -> list[Links]:
    """Return the links of each pair of these lengths; `is_reverse`: an A3 file's are turned."""
    name, column = called(path), column_of(path)
    read = list(map(column.text, range(len(column.values)))) if column else read_lines(path)
    lines = link_lines(read, origin=name)
    if len(lines) != len(lengths):
        raise InputError(
            f"{name}: {counted(len(lines), 'line')}, the bitext has "
            f"{counted(len(lengths), 'pair')}; precomputed links are those of one bitext, line by "
            f"line"
        )
    rows = [parse_links(line, origin=f"{name}:{n}") for n, line in enumerate(lines, 1)]
    if is_reverse and has_a3(read):
        rows = [sorted((source, target) for target, source in row) for row in rows]
    flat, linked = [link for row in rows for link in row], sum(map(bool, rows))
    from_one = f" ({SUBTRACT})" * counts_from_one(flat, linked)
    for number, (row, sizes) in enumerate(zip(rows, lengths, strict=True), 1):
        for link in row:
            if link[0] >= sizes[0] or link[1] >= sizes[1]:
                raise InputError(
                    f"{name}:{number}: link {link[0]}-{link[1]} is out of range, the pair has "
                    f"{sizes[0]} source and {sizes[1]} target tokens{from_one}"
                )
    warn_of_base(flat, linked, origin=name)
    return rows
