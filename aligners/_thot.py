"""Thot's word alignment models, trained and loaded for the aligner and the decoder."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote, unquote

from portmert.tuner.base.errors import StateError, counted
from portmert.tuner.base.programs import Command, module_path, python, run

from . import _thot_training
from ._base import Links
from ._thot_training import DIRECTIONS, SOURCE, TARGET
from ._training import check_lengths, usable

Kind = Literal["ibm1", "ibm2", "hmm", "ibm3", "ibm4", "fast_align", "eflomal"]

Symmetrization = Literal[
    "none", "union", "intersection", "och", "grow", "grow-diag", "grow-diag-final",
    "grow-diag-final-and",
]  # fmt: skip
"""How two directions become one; `none` is the direction source to target alone."""

# Found by putting each in place of an ordinary word and comparing links and translations, thot
# 3.5.3 (tests/aligners/test_thot.py): NULL and NUL bytes spoil alignments, the others decoding.
# ({ and }) are fields of the file that phrases are extracted from.
SPECIAL = frozenset(
    "||| NULL UNKNOWN_WORD <UNUSED_WORD> <s> </s> <unk> <sp_sym1> ({ })".split()  # noqa: SIM905
)
# The decoder looks for these anywhere, even inside a token.
TAGS = ("phr_pair_annot>", "src_segm>", "trg_segm>")
ESCAPE = "@thot:"
BATCH = 10_000


def escape(token: str) -> str:
    """Return a token that means nothing to thot; `unescape` gives the token back."""
    if (
        token in SPECIAL
        or token.startswith(ESCAPE)
        or not token.isprintable()  # includes every white space and control character
        or any(tag in token for tag in TAGS)
    ):
        return ESCAPE + quote(token, safe="")
    return token


def unescape(token: str) -> str:
    """Undo `escape`."""
    return unquote(token[len(ESCAPE) :]) if token.startswith(ESCAPE) else token


def train(
    folder: Path,
    kind: Kind,
    *,
    iterations: int,
    source: Sequence[Sequence[str]],
    target: Sequence[Sequence[str]],
    timeout_seconds: float,
) -> dict[str, int]:
    """Train both directions on escaped token lists and save them in `folder`.

    Pairs with an empty side, and pairs longer than the model takes, teach nothing: they are left
    out, and counted in what is returned. A training whose iteration takes longer than
    `timeout_seconds` is ended; 0: none is.

    Raises
    ------
    InputError, ProgramError
        No pair is left, or a training process failed or hung.
    """
    used, notes = usable(f"thot {kind}", source, target, most=max_length(kind))
    for name, rows in ((SOURCE, source), (TARGET, target)):
        with (folder / name).open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(f"{' '.join(rows[row])}\n" for row in used)
    commands = [
        Command(
            python(_thot_training.__name__, ".", kind, str(iterations), direction),
            folder / f"{direction}.log",
            folder=folder,
            environment={"OMP_NUM_THREADS": "1", "PYTHONPATH": module_path()},
            name=f"thot: training {kind} ({direction}) on {counted(len(used), 'pair')}",
            timeout_seconds=timeout_seconds,
            is_scratch=True,
        )
        for direction in DIRECTIONS
    ]
    run(*commands, at_once=len(commands))
    for name in (*(f"{direction}.log" for direction in DIRECTIONS), SOURCE, TARGET):
        (folder / name).unlink()
    return notes


def max_length(kind: Kind) -> int:
    """Return how many tokens a sentence may have."""
    return int(_model_class(kind)().max_sentence_length)


class SymmetrizedModels:
    """Two trained directions that align together."""

    def __init__(self, folder: Path, kind: Kind, symmetrization: Symmetrization) -> None:
        self.kind = kind
        self.models = []
        for direction in DIRECTIONS:
            model = _model_class(kind)()
            if not model.load(str(folder / direction)):
                raise StateError(
                    f"{folder / direction}: thot cannot load its {kind} model; remove it"
                )
            self.models.append(model)
        self._aligner = symmetrized(self.models[0], self.models[1], symmetrization)

    def align(
        self, source: Sequence[Sequence[str]], target: Sequence[Sequence[str]]
    ) -> list[Links]:
        """Align escaped token lists; a pair with an empty side has no links.

        Raises
        ------
        InputError
            A sentence is longer than the model takes (thot would return no link, in silence).
        """
        limit = int(self.models[0].max_sentence_length)
        check_lengths(source, target, most=limit, program=f"thot's {self.kind}")
        rows: list[Links] = [[] for _ in source]
        full = [index for index, (s, t) in enumerate(zip(source, target, strict=True)) if s and t]
        for start in range(0, len(full), BATCH):
            part = full[start : start + BATCH]
            matrices = self._aligner.get_best_alignments(
                [source[index] for index in part], [target[index] for index in part]
            )
            for index, (_, matrix) in zip(part, matrices, strict=True):
                rows[index] = matrix_links(matrix)
        return rows


def symmetrized(direct: Any, inverse: Any, symmetrization: Symmetrization) -> Any:
    """Return thot's symmetrised aligner of two directions."""
    import thot.alignment  # noqa: PLC0415  loads a large library

    aligner = thot.alignment.SymmetrizedAligner(direct, inverse)
    aligner.heuristic = getattr(
        thot.alignment.SymmetrizationHeuristic, symmetrization.upper().replace("-", "_")
    )
    return aligner


def matrix_links(matrix: Any) -> Links:
    """Return the links of thot's matrix, rows source, columns target."""
    source, target = matrix.to_numpy().nonzero()  # row by row: sorted
    return list(zip(source.tolist(), target.tolist(), strict=True))


def escape_all(lines: Iterable[Sequence[str]]) -> list[list[str]]:
    """Escape lists of tokens."""
    return [[escape(token) for token in line] for line in lines]


def _model_class(kind: Kind) -> Any:
    import thot.alignment  # noqa: PLC0415  loads a large library

    name = "FastAlign" if kind == "fast_align" else f"{kind.title()}Alignment"
    return getattr(thot.alignment, f"{name}Model")
