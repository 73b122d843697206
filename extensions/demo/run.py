"""Run the demo: one bitext, one decoder, tuned once on BLEU and once on PORT."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import portmert
from portmert.tuner.api.tuning import TunedDecoder
from portmert.tuner.base.files import make_folder, read_lines, shipped, write_text
from portmert.tuner.base.warn import notice
from portmert.tuner.evaluation.report import Report
from portmert.tuner.runs.config import load_config

SIZES = {"train": 4000, "dev": 200, "test": 300}
"""Sentence pairs: enough for tuning to matter, and few enough for minutes on two cores."""
METRICS = ("bleu", "port")
SIDES = {"src": "src", "tgt": "ref"}
"""The sides of the bitext and those of configs/tanaka."""
PACKED = {"train": ".xz"}


class Demo(NamedTuple):
    """The result of the demo: what tuning on each metric gave, and the comparison of both."""

    tuned: Mapping[str, TunedDecoder]
    compared: Report


def run_demo(
    folder: Path,
    *,
    overrides: Sequence[str] = (),
    threads: int | None = None,
    fresh: bool = False,
    sizes: Mapping[str, int] = SIZES,
) -> Demo:
    """Run the demo in `folder`, and go on where an earlier demo there was interrupted.

    Parameters
    ----------
    overrides
        `table.key=value`, for both configurations.
    fresh
        Start over with new configurations and runs; trained models are kept if they fit.
    sizes
        Sentence pairs of each part of the bitext.

    Raises
    ------
    PortmertError
        The folder has other work.
    """
    make_folder(folder)
    _make_corpus(folder / "corpus", sizes, fresh=fresh)
    configs = {metric: folder / f"demo-{metric}.toml" for metric in METRICS}
    for config in configs.values():
        if fresh or not config.exists():
            write_text(config, shipped(f"configs/{config.name}").read_text(encoding="utf-8"))
        load_config(config, overrides=overrides, threads=threads)  # a wrong key ends here
    tuned = {}
    for metric, config in configs.items():
        notice(f"tuning on {metric.upper()}: portmert tune {config}")
        tuned[metric] = portmert.tune(config, overrides=overrides, threads=threads, fresh=fresh)
    notice("comparing the systems")
    runs = {metric: run.folder for metric, run in tuned.items()}
    # Without times the same demo writes the same bytes.
    return Demo(tuned, portmert.compare(runs, threads=threads or 0, timing=False))


def _make_corpus(corpus: Path, sizes: Mapping[str, int], *, fresh: bool) -> None:
    """Write the bitext, unless it is there."""
    paths = {(part, side): corpus / f"{part}.{side}" for part in sizes for side in SIDES}
    if not fresh and all(path.exists() for path in paths.values()):
        return
    texts = {}
    for (part, side), path in paths.items():
        lines = read_lines(shipped(f"configs/tanaka/{part}.{SIDES[side]}{PACKED.get(part, '')}"))
        texts[path] = "".join(f"{line}\n" for line in lines[: sizes[part]])
    numbers = " + ".join(map(str, sizes.values()))
    notice(f"writing a bitext of {numbers} sentence pairs into {corpus}")
    make_folder(corpus)
    for path, text in texts.items():
        write_text(path, text)
