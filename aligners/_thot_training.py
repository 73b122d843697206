"""Train one direction of one of thot's word alignment models in a process of its own.

The process, `python -m portmert.aligners._thot_training FOLDER KIND ITERATIONS DIRECTION`, has one
OpenMP thread: with more, fast_align's sums come in another order and its links differ from machine
to machine. The two directions train at the same time. Little is imported, so that it starts soon.
"""

import sys
from pathlib import Path
from typing import Any

DIRECTIONS = ("direct", "inverse")
"""File name prefixes: p(target | source) and p(source | target)."""

SOURCE, TARGET = "train.source", "train.target"
"""The training bitext, escaped; removed when training is done."""


def chain(kind: str) -> list[Any]:
    """Return the models to train one after the other; each starts from the one before."""
    import thot.alignment as models  # noqa: PLC0415  after OMP_NUM_THREADS is set

    if kind == "fast_align":
        fast = models.FastAlignModel()
        fast.variational_bayes = True
        return [fast]
    if kind == "eflomal":
        eflomal = models.EflomalAlignmentModel()
        eflomal.deterministic = True
        return [eflomal]
    stages: list[Any] = [models.Ibm1AlignmentModel()]
    if kind == "ibm2":
        stages.append(models.Ibm2AlignmentModel(stages[-1]))
    elif kind != "ibm1":
        hmm = models.HmmAlignmentModel(stages[-1])
        # Probability of the null word, and how much the lexical and the jump table are smoothed.
        hmm.hmm_p0 = hmm.lexical_smoothing_factor = 0.1
        hmm.hmm_alignment_smoothing_factor = 0.3
        stages.append(hmm)
        if kind in {"ibm3", "ibm4"}:
            stages.append(models.Ibm3AlignmentModel(hmm))
        if kind == "ibm4":
            stages.append(models.Ibm4AlignmentModel(stages[-1]))
    return stages


def main() -> None:
    """Train on the bitext in FOLDER and save the last model there."""
    folder, kind, iterations, direction = Path(sys.argv[1]), sys.argv[2], *sys.argv[3:5]
    sides = [
        [line.split(" ") for line in (folder / name).read_text("utf-8").split("\n")[:-1]]
        for name in (SOURCE, TARGET)
    ]
    if direction == DIRECTIONS[1]:
        sides.reverse()
    models = chain(kind)
    for source, target in zip(*sides, strict=True):
        models[-1].add_sentence_pair(source, target, 1)
    for model in models:
        model.start_training()
        # eflomal samples; how often depends on the size of the bitext, and it knows best.
        rounds = model.scheduled_iterations if kind == "eflomal" else int(iterations)
        for _ in range(rounds):
            model.train()
            print("trained", flush=True)  # noqa: T201  a sign of life
        model.end_training()
    models[-1].print(str(folder / direction))


if __name__ == "__main__":
    main()
