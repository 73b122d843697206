"""Tune one decoder on several metrics, several times each, and fill the paper's tables."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from portmert.aligners._base import parse_links
from portmert.metrics._base import Ragged

from ...base.context import current, using
from ...base.errors import ConfigError, InputError, counted
from ...base.files import read_lines
from ...base.tables import Table
from ...base.warn import notice, notices_behind
from ...runs import replicas
from ...runs.config import Experiment, load_config
from ...texts.links import Linker
from ...texts.prepare import Prepare
from ..comparison import compare, material, scores
from ..comparison.systems import SystemFiles
from .document import Published, document, markdown, read_published

TUNED_ON = ("bleu", "port", "qmean", "port-rho", "port-tau")
"""The metrics that the paper tunes on; the others are compared with the first."""

SCORED_WITH = ("bleu", "nist", "ter", "meteor", "port", "qmean")


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
        Metrics: names, or `NAME=FORMULA` each, as `mean=0.5*bleu+0.5*port`.
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

    def add(system: str, metric: str, *settings: str) -> None:
        if system in experiments:
            raise InputError(f"two metrics to tune on are called {system}; name one NAME=FORMULA")
        experiment = load_config(config, overrides=[*overrides, metric, *settings], **options)
        experiments[system] = replace(
            experiment, tune=replace(experiment.tune, output=experiment.tune.output / system)
        )

    for text in tuned_on:
        formula = re.fullmatch(r"(\w[\w.-]*)=(.+)", text)
        if formula is None:
            add(text, f"metric.name={text}")
        else:
            add(formula[1], f"metric={formula[2]}")
    references = len(next(iter(experiments.values())).data.references)
    for text in links:
        links_of_set = material.parse_link_set(text, references=references)
        files = json.dumps([str(file.absolute()) for file in links_of_set.references])
        if not re.fullmatch(r"[\w.-]+", links_of_set.name):
            raise InputError(f"--links {text}: a name of letters, digits, '.', '_' and '-' alone")
        add(f"port@{links_of_set.name}", "metric.name=port", f"data.reference_links={files}")
    return experiments


def reproduce(
    config: Path,
    experiments: Mapping[str, Experiment],
    scored_with: Sequence[str],
    *,
    published: Path | None,
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
    if workers := current().cluster:
        folder = next(iter(experiments.values())).tune.output.parent
        notice(f"tuning on {', '.join(experiments)}: {folder}")
        replicas.run_spread(workers, experiments)
    else:
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
    )
    with using(threads=next(iter(experiments.values())).threads):
        comparison = compare.compare_systems(request)
    origin = _origin(config, next(iter(experiments.values())))
    extra_tables = _link_sets(experiments)
    content = markdown(document(comparison, figures, origin=origin, extra_tables=extra_tables))
    return comparison["headlines"], content


def _link_sets(experiments: Mapping[str, Experiment]) -> dict[int, Table]:
    """Return what stands below table 7: how far the links differ that PORT was tuned with."""
    linked = {}  # name -> where the links of the dev set's references come from, and them
    for name, experiment in experiments.items():
        if name.partition("@")[0] == "port":
            data, aligner = experiment.data, experiment.aligner
            files = data.reference_links
            origin = ", ".join(file.name for file in files)
            origin = origin or f"aligner {aligner and aligner.name()}"
            folder = experiment.tune.output / "annotations"
            linker = Linker(aligner, folder, data.source, data.references)
            lines = [
                parse_links(line, origin=str(file))
                for file in files or linker.dev_links()
                for line in read_lines(file)
            ]
            linked[name] = origin, Ragged.from_rows(lines, 2)
    if len(linked) < 2:
        return {}
    first, (_, against) = next(iter(linked.items()))
    rows = [
        [name, origin, "" if name == first else f"{scores.error_rate(against, links):.4f}"]
        for name, (origin, links) in linked.items()
    ]
    return {
        7: Table("", ["tuned on", "links of the dev set", f"AER against those of {first}"], rows)
    }


def _origin(config: Path, experiment: Experiment) -> str:
    tune = experiment.tune
    return (
        f"Made by `portmert reproduce {config.name}`: decoder {experiment.decoder.name()}, "
        f"{counted(tune.replicas, 'tuning')} for each metric from seed {tune.seed} on, at most "
        f"{counted(tune.iterations, 'iteration')} of {tune.nbest}-best lists. Scores are of the "
        f"test set, means over the tunings; s_sel is the deviation over resampled segments, s_opt "
        f"over tunings; p is two-sided by a t-test of luck of the test set and of tuning, then "
        f"corrected (Holm), beside it two-sided by approximate randomization and by paired "
        f"bootstrap."
    )
