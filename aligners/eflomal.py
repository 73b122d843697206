"""The aligner eflomal, by its programs."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar

from annotated_types import Ge, Gt, Le, Lt
from pydantic.dataclasses import dataclass

from portmert.tuner.base import model_folders, programs
from portmert.tuner.base.errors import counted
from portmert.tuner.base.files import make_folder, read_lines, write_text

from ._base import Links, format_links, parse_links
from ._programs import Directions, ProgramAligner, escape, write_rows
from ._training import FORMAT, Rows, digest, usable

PRIORS = "priors"


@dataclass(frozen=True)
class Eflomal(ProgramAligner):
    """Runs the original eflomal: a Bayesian HMM with fertilities, by Gibbs sampling.

    eflomal takes its random numbers from the system and has no seed. So two trainings give
    different links, and so do two alignments of one pair. Here the links of each call are kept in
    the working folder, so that the same pairs get the same links again. For the same links in a
    new folder, use `thot` with `model = "eflomal"`, which is deterministic and needs no program.

    Training counts the links of the training pairs (eflomal-makepriors). Every call uses these
    counts as priors.

    Parameters
    ----------
    model : int
        1 is IBM model 1, 2 adds the HMM, 3 adds fertilities.
    length : float
        Number of sampling iterations, relative to eflomal's default.
    samplers : int
        Number of independent samplers; their links are averaged.
    null_prior : float
        Prior probability that a word has no link.

    References
    ----------
    Ostling and Tiedemann, "Efficient Word Alignment with Markov Chain Monte Carlo", PBML 2016.
    """

    model: Annotated[int, Ge(1), Le(3)] = 3
    length: Annotated[float, Gt(0)] = 1.0
    samplers: Annotated[int, Ge(1)] = 3
    null_prior: Annotated[float, Ge(0), Lt(1)] = 0.2

    package: ClassVar[str] = "eflomal"
    # eflomal reads a longer line as empty (write_text, eflomal.pyx).
    most_tokens: ClassVar[int] = 1023
    settings: ClassVar[tuple[str, ...]] = ("length", "samplers", "null_prior")
    models: ClassVar[str] = "eflomal original {0.model}"

    def _aligned(
        self, folder: Path, source: Sequence[str], target: Sequence[str], workdir: Path
    ) -> list[Links]:
        """Return the links of an earlier call with the same pairs, or align and keep the links."""
        priors = (model_folders.read_record(folder) or {})["notes"][PRIORS]
        settings = str({"format": FORMAT, **self._settings()})
        key = digest([priors, self.symmetrization, settings, *source, *target])
        cached = workdir / f"eflomal-{key}.links"
        if cached.exists():
            return _read(cached)
        links = super()._aligned(folder, source, target, workdir)
        make_folder(workdir)
        write_text(cached, "".join(f"{format_links(row)}\n" for row in links))
        return links

    def _train(self, folder: Path, source: Rows, target: Rows) -> dict[str, Any]:
        used, notes = usable("eflomal", source, target, most=self.most_tokens)
        self._sample(folder, [source[row] for row in used], [target[row] for row in used])
        files = ("-s", "source", "-t", "target", "-f", "forward", "-r", "reverse", "-p", PRIORS)
        program = self._program("eflomal-makepriors")
        programs.run(self._command(folder, [program, *files], log="eflomal-makepriors"))
        for name in ("source", "target", "forward", "reverse"):
            (folder / name).unlink()
        return {**notes, PRIORS: digest(read_lines(folder / PRIORS))}

    def _link(
        self,
        room: Path,
        folder: Path,
        record: Mapping[str, Any],  # noqa: ARG002  all is in the priors
        source: Rows,
        target: Rows,
    ) -> Directions:
        return self._sample(room, source, target, "-p", (folder / PRIORS).absolute())

    def _sample(self, room: Path, source: Rows, target: Rows, *extra: str | Path) -> Directions:
        """Write the pairs, run the sampler and read the links of both directions."""
        for name, rows in (("source", source), ("target", target)):
            write_rows(room / name, [[escape(token) for token in row] for row in rows])
        command = self._command(
            room,
            [
                *(self._program("eflomal-align"), "-s", "source", "-t", "target"),
                *("-f", "forward", "-r", "reverse", "-m", str(self.model), "-l", str(self.length)),
                *("--n-samplers", str(self.samplers), "--null-prior", str(self.null_prior)),
                *extra,
            ],
            log="eflomal-align",
        )
        programs.run(command)
        by_source, by_target = _read(room / "reverse"), _read(room / "forward")
        for links in (by_source, by_target):
            if len(links) != len(source):
                raise command.failure(f"aligned {len(links)} of {counted(len(source), 'pair')}")
        return by_source, by_target


def _read(path: Path) -> list[Links]:
    return [
        parse_links(line, origin=f"{path}:{number}")
        for number, line in enumerate(read_lines(path), 1)
    ]
