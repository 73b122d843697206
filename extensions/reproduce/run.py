"""Tune one decoder on several metrics, several times each, and fill the paper's tables."""

from __future__ import annotations

import json
import re
import timeit
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from portmert.metrics._display import NOTHING
from portmert.tuner.base import json_toml
from portmert.tuner.base.context import using
from portmert.tuner.base.errors import ConfigError, InputError, counted
from portmert.tuner.base.files import read_lines
from portmert.tuner.base.tables import Table
from portmert.tuner.base.warn import notice, notices_behind
from portmert.tuner.components import registry
from portmert.tuner.evaluation.comparison import compare, material
from portmert.tuner.evaluation.comparison.systems import SystemFiles
from portmert.tuner.evaluation.formatting import listed
from portmert.tuner.evaluation.published import Published, read_published
from portmert.tuner.runs import replicas
from portmert.tuner.runs.config import Experiment, load_config
from portmert.tuner.runs.folder import RunFolder
from portmert.tuner.runs.scorer import Evaluator
from portmert.tuner.texts.prepare import Prepare

from .document import TABLES, document, markdown

TUNED_ON = ("bleu", "port", "qmean", "port-rho", "port-tau")
"""The metrics that the paper tunes on; the others are compared with the first."""

SCORED_WITH = ("bleu", "nist", "ter", "meteor:version=1.0,stem=true", "port", "qmean")
"""METEOR v1.0 as in the paper: with stems, which are English unless `language` says more."""


def experiments_of(
    config: Path,
    tuned_on: Sequence[str],
    *,
    links: Sequence[str] = (),
    overrides: Sequence[str] = (),
    **options: Any,
) -> dict[str, Experiment]:
    """Return metric -> the experiment of `config` with that metric, in a folder of its own.

    Parameters
    ----------
    tuned_on
        Metrics, as `port:alpha=0.5`, or `NAME=FORMULA` each, as `mean=0.5*bleu + 0.5*port`. A bare
        name has those options of the table [metric] that it knows.
    links
        Other links of the dev set's references, `NAME=FILE[,FILE...]` each; `port@NAME` is the
        experiment of PORT with them.
    overrides, options
        As of `load_config`.

    Raises
    ------
    ConfigError
        As `load_config`; or the experiment of one metric lacks what it needs, as links.
    InputError
        Links of another form, or not a file for each reference.
    """
    experiments: dict[str, Experiment] = {}

    def add(system: str, *settings: str) -> None:
        experiment = load_config(config, overrides=[*settings, *overrides], **options)
        output = experiment.tune.output / re.sub(r"[^\w.@=,+-]+", "-", system)
        if any(output == other.tune.output for other in experiments.values()):
            raise InputError(f"two metrics to tune on are called {system}; name one NAME=FORMULA")
        experiments[system] = replace(experiment, tune=replace(experiment.tune, output=output))

    for override in overrides:
        if re.match(r"metric(\.name)?\s*=", override.strip()):
            raise ConfigError(f"--set {override}: --tune-on names the metrics; leave one out")
    for text in tuned_on:
        formula = re.fullmatch(r"(\w[\w.-]*)=(.+)", text)
        if formula is None:
            add(text, _as_metric(config, text))
        else:
            add(formula[1], f"metric={formula[2]}")
    references = len(next(iter(experiments.values())).data.references)
    for text in links:
        links_of_set = material.parse_link_set(text, references=references)
        files = json.dumps([str(file.absolute()) for file in links_of_set.references])
        if not re.fullmatch(r"[\w.-]+", links_of_set.name):
            raise InputError(f"--links {text}: a name of letters, digits, '.', '_' and '-' alone")
        port = _as_metric(config, "port")
        add(f"port@{links_of_set.name}", port, f"data.reference_links={files}")
    return experiments


def _as_metric(config: Path, text: str) -> str:
    """Return the override that puts a metric in place; options of [metric] that it lacks go."""
    try:
        table = json_toml.parse_toml(config.read_text(encoding="utf-8"))["metric"]
        names = [option.name for option in fields(registry.metric(text))]
    except (OSError, ValueError, LookupError, ConfigError):
        return f"metric={text}"  # `load_config` says what is wrong
    if ":" in text or not isinstance(table, dict):
        return f"metric={text}"
    if lacking := [key for key in table if key not in (*names, "name", "formula")]:
        notice(f"{text} has no {listed(lacking)}, of [metric] in {config}: left out")
    kept = {"name": text, **{key: table[key] for key in names if key in table}}
    return f"metric={{{', '.join(f'{key}={json.dumps(value)}' for key, value in kept.items())}}}"


def _parts(test_sets: Sequence[str], segments: int) -> dict[str, int]:
    """Return the test sets by name with their numbers of segments."""
    parts: dict[str, int] = {}
    for text in test_sets:
        match = re.fullmatch(r"([^=]+)=([1-9][0-9]{0,8})", text)
        if match is None or match[1] in parts:
            raise InputError(f"--test-set {text}: expected another NAME=SEGMENTS, as nist06=1664")
        parts[match[1]] = int(match[2])
    if parts and sum(parts.values()) != segments:
        raise InputError(
            f"--test-set: {sum(parts.values())} segments in all, but test_source has {segments}"
        )
    return parts


def reproduce(
    config: Path,
    experiments: Mapping[str, Experiment],
    scored_with: Sequence[str],
    *,
    published: Path | None,
    test_sets: Sequence[str] = (),
    prepare: Prepare | None = None,
) -> tuple[Sequence[str], str]:
    """Tune on each metric, going on where an earlier call ended, then compare on the test set.

    Returns the headlines of the comparison, and the document.

    Parameters
    ----------
    experiments
        See `experiments_of`.
    published
        A file of the paper's own figures, see `read_published`; None: none are shown.
    test_sets
        `NAME=SEGMENTS` each, in order: what the test set is made of.

    Raises
    ------
    PortmertError
        The errors of `tune` and `compare`.
    """
    if any(experiment.data.test_source is None for experiment in experiments.values()):
        raise ConfigError(
            f"{config}: [data] has no test_source and test_references; systems are compared on a "
            f"test set"
        )
    figures = Published() if published is None else read_published(published)
    numbers = {table.number for table in TABLES}
    if published is not None and not any(
        table.number in numbers and table.headers[:1] not in (("metric",), ("features",))
        for table in figures.table
    ):
        raise InputError(
            f"{published}: {figures.citation or 'a paper without a name'}: no table of tuned "
            f"systems, as the PORT paper has; `portmert metaeval --published` reads tables of "
            f"metrics, `portmert metric-train --published` tables of features"
        )
    first = next(iter(experiments.values()))
    assert first.data.test_source is not None  # noqa: S101  checked above
    parts = _parts(test_sets, len(read_lines(first.data.test_source)) if test_sets else 0)
    for name, experiment in experiments.items():
        notice(f"tuning on {name}: {experiment.tune.output}")
        with notices_behind(name):
            replicas.run(experiment)
    notice("comparing the systems")
    request = compare.CompareRequest(
        tuple(
            SystemFiles(name, (experiment.tune.output,))
            for name, experiment in experiments.items()
        ),
        metrics=tuple(scored_with),
        prepare=prepare,
        parts=parts,
    )
    with using(threads=first.threads):
        comparison = compare.compare_systems(request)
        extra_tables = {6: _times(experiments)}
    origin = _origin(config, first)
    content = markdown(document(comparison, figures, origin=origin, extra_tables=extra_tables))
    return comparison["headlines"], content


def _times(experiments: Mapping[str, Experiment]) -> Table:
    """Return table 6: the time to score the last lists of the dev set, and that of an iteration.

    Of the first replica; the faster of two rounds. Iterations begin in the log where they decode;
    their median counts, because a run may have been interrupted.
    """
    rows = []
    for name, experiment in experiments.items():
        folder = experiment.tune.output
        with closing(Evaluator(experiment, RunFolder(folder))) as evaluator:
            folder = folder / "replica-1" if experiment.tune.replicas > 1 else folder
            _ = evaluator.references  # their words come first in the vocabulary
            nbest = evaluator.read(max(folder.glob("iteration-*/nbest.gz")))
            rounds = timeit.repeat(partial(evaluator.statistics, nbest), repeat=2, number=1)
        log = read_lines(folder / "log.txt") if (folder / "log.txt").is_file() else []
        begun = [line for line in log if re.search(r"Z iteration [0-9]+: decoding", line)]
        times = np.array([line.partition("Z ")[0] for line in [*begun, *log[-1:]]], "M8[s]")
        median = f"{np.median(np.diff(times).astype(float)):.0f}" if begun else NOTHING
        rows.append([name, str(nbest.offsets[-1]), f"{min(rounds):.2f}", median])
    headers = ["tuned on", "hypotheses", "seconds to score them", "seconds of an iteration"]
    return Table("", headers, rows)


def _origin(config: Path, experiment: Experiment) -> str:
    tune = experiment.tune
    return (
        f"Made by `portmert reproduce {config.name}`: decoder {experiment.decoder.name()}, "
        f"{counted(tune.replicas, 'tuning')} for each metric from seed {tune.seed} on, at most "
        f"{counted(tune.iterations, 'iteration')} of {tune.nbest}-best lists. Scores are of the "
        f"test set, means over the tunings; s_sel is the deviation over resampled segments, s_opt "
        f"over tunings; p is two-sided by a t-test of chance in the test set and in tuning, then "
        f"corrected (Holm), beside it two-sided by approximate randomization and by paired "
        f"bootstrap."
    )
