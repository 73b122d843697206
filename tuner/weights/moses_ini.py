"""Read a moses.ini, sections and features, and put new weights into its text.

The numbers of a line of weights are read in feature_weights.py.

Nothing but numbers in the [weight] section ever changes: comments, order, line ends and bytes that
are not UTF-8 stay as they are.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..base.errors import InputError, counted
from ..base.files import called, read_bytes

_SECTION = re.compile(r"\[([^\[\]]+)\]")
_WEIGHT = re.compile(
    r"(?P<indent>\s*)(?P<name>[^=#\s]+)\s*=(?P<values>[^#]*)(?P<comment>#.*)?", re.DOTALL
)

NEVER_TUNED = frozenset({"UnknownWordPenalty"})
"""Features that Moses calls untuneable whatever their line says."""


@dataclass(frozen=True)
class MosesIni:
    r"""A moses.ini as lines without their `\n`; joined by `\n` they are the file.

    Parameters
    ----------
    lines
        A `\r` stays at the end of its line.
    origin
        The name of the file in messages.
    """

    lines: tuple[str, ...]
    origin: str

    @property
    def sections(self) -> list[str]:
        """Return the names of all sections in order, in lower case."""
        return [name for name in map(_section, self.lines) if name is not None]

    def section(self, name: str) -> list[tuple[int, str]]:
        """Return the numbered lines of all sections of this name, comments and blank ones too."""
        lines, inside = [], False
        for number, line in enumerate(self.lines, 1):
            name_here = _section(line)
            if name_here is not None:
                inside = name_here == name
            elif inside:
                lines.append((number, line))
        return lines

    def values(self, name: str) -> list[str]:
        """Return the lines of a section without comments, blanks and white space around them."""
        texts = (line.partition("#")[0].strip() for _, line in self.section(name))
        return [text for text in texts if text]

    @property
    def features(self) -> dict[str, str]:
        """Return the line of each feature of [feature] by the name Moses gives it.

        A feature without `name=` is called by its kind and how many of its kind came before.
        """
        line_of, unnamed = {}, Counter[str]()
        for line in self.values("feature"):
            kind, *options = line.split()
            names = [option[5:] for option in options if option.startswith("name=")]
            if not names:
                names = [f"{kind}{unnamed[kind]}"]
                unnamed[kind] += 1
            line_of[names[0]] = line
        return line_of

    @property
    def weighted(self) -> frozenset[str]:
        """Return the names that the [weight] section gives weights to."""
        matches = (_WEIGHT.fullmatch(line.rstrip("\r")) for _, line in self.section("weight"))
        return frozenset(match["name"] for match in matches if match is not None)

    @property
    def untuneable(self) -> frozenset[str]:
        """Return the features whose weights must stay, as far as the file says."""
        return frozenset(
            name
            for name, line in self.features.items()
            if line.split()[0] in NEVER_TUNED or "tuneable=false" in line.split()[1:]
        )

    def with_weights(
        self,
        weights: Mapping[str, Sequence[float]],
        *,
        header: str = "",
        tuned: Mapping[str, Sequence[bool]] | None = None,
        extra: Mapping[str, Sequence[str]] | None = None,
    ) -> bytes:
        """Return the file with new numbers in its [weight] section.

        Features of the section that `weights` does not name keep theirs; those that the section
        does not name are added at its end.

        Parameters
        ----------
        weights
            By feature; numbers are printed so that reading gives them back.
        header
            Comes first, each line as a comment.
        tuned
            Feature -> which of its components the numbers are of, where they are not of all: the
            others stay as they are.
        extra
            Section -> lines, in place of those that it has; a new section comes at the end.

        Raises
        ------
        InputError
            There is no [weight] section, it has none of the features, or another number of
            components than `weights`.
        """
        if "weight" not in self.sections:
            if "weight-file" not in self.sections:
                raise InputError(f"{self.origin}: no [weight] section to put the weights into")
            rows = [f"{name}= {_numbers(values)}" for name, values in weights.items()]
            weights, extra = {}, {"weight": rows, **(extra or {})}
        left = dict(weights)
        out: list[str] = []
        inside, end = False, 0
        for number, line in enumerate(self.lines, 1):
            section = _section(line)
            if section is not None:
                inside = section == "weight"
            match = _WEIGHT.fullmatch(line.rstrip("\r")) if inside else None
            if match is not None and match["name"] in left:
                name = match["name"]
                line = self._new_line(  # noqa: PLW2901  the line as it is written
                    match, number, left.pop(name), (tuned or {}).get(name), ending=_ending(line)
                )
            out.append(line)
            if inside and line.strip():
                end = len(out)
        if weights and len(left) == len(weights):
            raise InputError(
                f"{self.origin}: its [weight] section has none of {', '.join(left)}; is it the "
                f"configuration of another system?"
            )
        ending = _ending(self.lines[0])
        added = [f"{name}= {_numbers(values)}{ending}" for name, values in left.items()]
        if added and end == len(out):  # the section ends the file, without a line end
            out[-1] += ending
            added.append("")
        out[end:end] = added
        for section, lines in (extra or {}).items():
            out = _with_section(out, section, [f"{line}{ending}" for line in lines])
        comments = [f"# {line}{ending}" for line in header.splitlines()]
        return "\n".join([*comments, *out]).encode("utf-8", "surrogateescape")

    def _new_line(
        self,
        match: re.Match[str],
        number: int,
        values: Sequence[float],
        tuned: Sequence[bool] | None,
        *,
        ending: str,
    ) -> str:
        tokens = match["values"].split()
        mask = [True] * len(values) if tuned is None else list(tuned)
        if len(tokens) != len(mask) or sum(mask) != len(values):
            raise InputError(
                f"{self.origin}:{number}: feature {match['name']} has "
                f"{counted(len(tokens), 'weight')} here, {len(values)} are to be written; is it "
                f"the configuration of another system?"
            )
        replacements = iter(values)
        texts = [
            repr(float(next(replacements))) if m else o for o, m in zip(tokens, mask, strict=True)
        ]
        space = match["values"][len(match["values"].rstrip()) :] if match["comment"] else ""
        return (
            f"{match['indent']}{match['name']}= {' '.join(texts)}{space}{match['comment'] or ''}"
            f"{ending}"
        )


def read_moses_ini(path: Path | str) -> MosesIni:
    """Read a moses.ini.

    Raises
    ------
    InputError
        The file cannot be read.
    """
    text = read_bytes(path).decode("utf-8", "surrogateescape").removeprefix("\ufeff")
    return MosesIni(tuple(text.split("\n")), called(path))


def _with_section(lines: Sequence[str], name: str, values: Sequence[str]) -> list[str]:
    """Return lines in which a section has these values; its comments stay."""
    out: list[str] = []
    inside, is_written = False, False
    for line in lines:
        section = _section(line)
        if section is not None:
            inside = section == name
        elif inside and line.partition("#")[0].strip():
            continue
        out.append(line)
        if section == name and not is_written:
            is_written = True
            out.extend(values)
    if not is_written:
        if out[-1]:
            out.append("")
        out[-1:] = [f"[{name}]{_ending(lines[0])}", *values, ""]
    return out


def _section(line: str) -> str | None:
    """Return the name if a line begins a section."""
    match = _SECTION.fullmatch(line.strip())
    return None if match is None else match[1].strip().lower()


def _ending(line: str) -> str:
    return "\r" if line.endswith("\r") else ""


def _numbers(values: Sequence[float]) -> str:
    return " ".join(repr(float(value)) for value in values)
