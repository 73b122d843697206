"""An aligner: word n with word n."""

from __future__ import annotations

from pydantic.dataclasses import dataclass

from portmert.aligners._base import Aligner


@dataclass(frozen=True)
class Diagonal(Aligner):
    """Links words at the same positions.

    Parameters
    ----------
    shift
        Added to the position in the source.
    """

    shift: int = 0

    def align(self, *, source, target, workdir):  # noqa: ARG002
        return [
            [
                (i, i - self.shift)
                for i in range(len(s.split()))
                if 0 <= i - self.shift < len(t.split())
            ]
            for s, t in zip(source, target, strict=True)
        ]
