"""Word alignments made elsewhere, from a file."""

from collections.abc import Sequence
from pathlib import Path

from pydantic.dataclasses import dataclass

from portmert.tuner.base.errors import InputError, counted
from portmert.tuner.base.files import called, read_lines

from ._base import (
    SUBTRACT,
    Aligner,
    Links,
    counts_from_one,
    link_lines,
    parse_links,
    tokens,
    warn_of_base,
)


@dataclass(frozen=True)
class Precomputed(Aligner):
    """Reads links from a file of Pharaoh lines (`0-0 1-2`, source-target, 0-based).

    The file belongs to one bitext: line n has the links of pair n.

    Parameters
    ----------
    links : Path
        The file, plain, .gz or .xz. Each pair has a line, which is empty if it has no links.
    """

    links: Path

    def align(
        self,
        *,
        source: Sequence[str],
        target: Sequence[str],
        workdir: Path,  # noqa: ARG002  nothing to keep
    ) -> list[Links]:
        """Return the links of the file.

        Raises
        ------
        InputError
            The file has another number of lines than the bitext, a line is not one of links, or
            a link points past the end of its sentence.
        ValueError
            `source` and `target` differ in length.
        """
        if len(source) != len(target):
            raise ValueError(f"{len(source)} source lines, {len(target)} target lines")
        name = called(self.links)
        lines = link_lines(read_lines(self.links), origin=name)
        if len(lines) != len(source):
            raise InputError(
                f"{name}: {counted(len(lines), 'line')}, the bitext has "
                f"{counted(len(source), 'pair')}; precomputed links are those of one bitext, line "
                f"by line"
            )
        rows = [parse_links(line, origin=f"{name}:{n}") for n, line in enumerate(lines, 1)]
        flat, linked = [link for row in rows for link in row], sum(map(bool, rows))
        from_one = f" ({SUBTRACT})" * counts_from_one(flat, linked)
        for number, (row, s, t) in enumerate(zip(rows, source, target, strict=True), 1):
            lengths = len(tokens(s)), len(tokens(t))
            for link in row:
                if link[0] >= lengths[0] or link[1] >= lengths[1]:
                    raise InputError(
                        f"{name}:{number}: link {link[0]}-{link[1]} is out of range, the "
                        f"pair has {lengths[0]} source and {lengths[1]} target tokens{from_one}"
                    )
        warn_of_base(flat, linked, origin=name)
        return rows
