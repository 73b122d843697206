"""Tunes a decoder: a function, or what a configuration names."""

import html
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, TypedDict, Unpack

from portmert.metrics._base import Metric

from ..base.arguments import checked
from ..base.context import Progress, using
from ..base.errors import ConfigError, ProgramError
from ..evaluation.document import Chart, ChartChoice, Series
from ..executors.opening import Workplace, opened
from ..families import provided
from ..runs import config as configs
from ..runs.config import Experiment
from ..runs.records import read_json
from ..runs.replicas import Replicas, run
from ..runs.result import Result
from ..search.constraints import Constraints, ConstraintsLike
from ..search.contributions import of_weights, table
from ..search.optimizers._base import Optimizer
from ..texts.annotator import Annotator
from ..weights.feature_weights import FeatureWeights
from .texts import PathLike, TextLike

Decode = Callable[[dict[str, Any], list[Any], int], Any]
"""Called as decode(weights, sources, size); see `tune`."""


class TuneSettings(TypedDict, total=False):
    """More settings of `tune`: keys of [tune], and of other tables of a configuration.

    Parameters
    ----------
    nbest
        Number of hypotheses that the decoder is asked for; `size` of `decode`.
    iterations, patience, min_weight_change, decodings, min_gain, held_out, prior, bootstrap,
    replicas
        See the [tune] table in docs/how-to/tune.md.
    overrides
        Values that replace those of a configuration, as `"metric.alpha=0.5"`.
    optimizer
        An optimizer, as `"mert"` or `"pro:samples=2000"`.
    constraints
        As `optimize` takes them: `Constraints`, or the table `{"signs": {"lm": "+"}}`.
    text
        Steps that change hypotheses and references for the metric, as `["lowercase"]`.
    test
        Sources and references of a test set, which is decoded once with the tuned weights.
    annotation_cache
        The folder of the cache of tags and parses.
    batch
        Number of sources that `decode` gets at once. Default: all. With fewer, less is decoded
        again after an interruption.
    """

    nbest: int
    iterations: int
    patience: int
    min_weight_change: float
    decodings: int
    min_gain: float
    held_out: float
    prior: float
    bootstrap: int
    replicas: int
    overrides: Sequence[str]
    optimizer: str | Optimizer
    constraints: ConstraintsLike | None
    text: Sequence[str]
    annotation_cache: PathLike
    test: tuple[Sequence[Any] | PathLike, Sequence[Any] | PathLike]
    batch: int


@dataclass(frozen=True, eq=False, repr=False)
class TunedDecoder:
    """The result of `tune`; a notebook shows it as a plot of score by decoding.

    Parameters
    ----------
    result
        All scores and files; `Replicas` if there were several tunings.
    weights
        The tuned weights: a number by name, a list where a feature has several values.
    folder
        The folder of the run.
    metric
        The metric tuned on.
    """

    result: Result | Replicas
    weights: dict[str, float | list[float]]
    folder: Path
    metric: Metric = field(repr=False)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What looks wrong with the data, one line each."""
        return self.result.warnings

    @property
    def rows(self) -> list[dict[str, Any]]:
        """A row for each decoding: its scores, also as error rates, and its weights."""
        has_replicas = isinstance(self.result, Replicas)
        results = self.result.results if isinstance(self.result, Replicas) else (self.result,)
        rows = []
        for replica, result in enumerate(results, 1):
            for iteration in result.iterations:
                scores = self.metric.display.with_rates(asdict(iteration))
                path = (
                    result.weights_path.parent / f"iteration-{iteration.number:02d}/weights.json"
                )
                weights = FeatureWeights.of(read_json(path)["weights"]).plain()
                rows.append(
                    {
                        **({"replica": replica} if has_replicas else {}),
                        "decoding": scores.pop("number"),
                        **{key: value for key, value in scores.items() if value is not None},
                        **weights,
                    }
                )
        return rows

    @property
    def history(self) -> Any:
        """The rows as a data frame of pandas; a list of dicts where pandas is not installed."""
        try:
            import pandas as pd  # pyright: ignore[reportMissingImports]  # noqa: PLC0415
        except ImportError:
            return self.rows
        return pd.DataFrame(self.rows)

    @property
    def summary(self) -> list[str]:
        """The lines that the command prints."""
        if isinstance(self.result, Replicas):
            return [str(self.result)]
        result, display = self.result, self.metric.display
        form = display.shown
        gain = f"{form(result.start_score)} -> {form(result.score)}"
        lines = [f"{display.labelled(self.metric.name())} {gain} on dev"]
        lines[0] += f" (iteration {result.best} of {len(result.iterations)}; {result.stopped})"
        if result.held_out is not None:
            lines.append(f"held out {form(result.held_out)}")
        if result.unseen is not None:
            lines.append(f"unseen {form(result.unseen)} (estimate from segments held out in turn)")
        if result.keeps_start:
            lines.append(result.keeps_start)
        if result.test is not None:
            untuned = result.start_test
            lines.append(
                f"test {form(result.test.score)}"
                + ("" if untuned is None else f" (start weights {form(untuned.score)})")
            )
        weights = table(of_weights(result.weights), self.metric)
        return [*lines, "", weights.text(), "", result.metric]

    def __repr__(self) -> str:
        document = read_json(self.folder / "result.json")
        names = ("metric", "higher_is_better", "stopped")
        values = {
            key: value
            for key, value in document.items()
            if key in names or (key.endswith(("_score", "_rate")) and value is not None)
        }
        values |= {"weights": self.weights, "folder": self.folder}
        return f"TunedDecoder({', '.join(f'{key}={value!r}' for key, value in values.items())})"

    def __str__(self) -> str:
        return "\n".join(self.summary)

    def _repr_html_(self) -> str:
        text = f"<pre>{html.escape(str(self))}</pre>"
        try:
            plots = provided("portmert.drawing", "plots")
            svg: str = plots.drawn([self._chart], "svg").decode()
        except (ConfigError, ProgramError):  # the extension or Matplotlib is not there
            return text
        return f"{svg[svg.index('<svg') :]}{text}"

    @property
    def _chart(self) -> Chart:
        """Scores by decoding: on the dev set, and on text that is not tuned on."""
        display, all_series = self.metric.display, []
        for colour, key in enumerate(("dev_score", "unseen_score", "held_out_score")):
            rows = [row for row in self.rows if key in row]
            for replica in dict.fromkeys(row.get("replica") for row in rows):
                own = [row for row in rows if row.get("replica") == replica]
                values, x = (
                    [display.value(row[key]) for row in own],
                    [row["decoding"] for row in own],
                )
                name = key.removesuffix("_score").replace("_", " ")
                all_series.append(Series(name, values, x, colour=colour))
        choice = ChartChoice("", all_series, display.in_percent)
        label = display.labelled(self.metric.name())
        return Chart("decodings", "lines", "Score by decoding", [choice], x="decoding", y=label)


@checked
def tune(
    decoder: Decode | PathLike | Experiment,
    sources: Sequence[Any] | PathLike | None = None,
    refs: Sequence[TextLike] | PathLike | None = None,
    *,
    start: Mapping[str, float | Sequence[float]] | None = None,
    metric: str | Metric = "bleu",
    folder: PathLike | None = None,
    seed: int | None = None,
    threads: int | None = None,
    fresh: bool = False,
    annotator: str | Annotator | None = None,
    executor: str | None = None,
    progress: Progress | None = None,
    **settings: Unpack[TuneSettings],
) -> TunedDecoder:
    """Tune a decoder: decode, merge, optimize, and repeat until nothing is gained.

    All files are in one folder. After an interruption or an error, the same call continues.

    Parameters
    ----------
    decoder
        A function `decode(weights, sources, size)`; or the file of a configuration, in TOML, or
        what `load_config` returned. The function gets the weights as a dict, some of the sources
        and the number of hypotheses wanted of each. It returns a list for each source, of dicts
        with the keys `text` and `features` (and `model_score`, if it is to be checked); or
        records, a data frame or `Lists` as `Lists.from_records` takes and returns them.
    sources, refs, start, metric, folder
        For a function only: the inputs that it decodes (texts, or any objects: recordings,
        arrays), the references (a line for each source; or files, or several lists of lines), the
        start weight of each feature, the metric and the folder of the run.
    seed, threads, annotator, executor
        These replace the values of a configuration. On a cluster, see `Search`, workers
        decode (a function travels with dask's own cloudpickle), annotate and do large searches.
    fresh
        Whether to remove the files of an earlier run and start over.
    progress
        As in `optimize`, with phases `"decoding"`, `"annotating"` and `"searching"`.
    **settings
        See `TuneSettings`.

    Raises
    ------
    PortmertError
        The decoder, its answer, a setting or a file is wrong. The error of a function is the cause
        (`__cause__`).

    Examples
    --------
    A decoder that knows two outputs of each source:

    >>> import tempfile
    >>> import portmert
    >>> def decode(weights, sources, size):
    ...     known = {"x": {"LM": -1.0, "TM": -2.0}, "d": {"LM": -2.0, "TM": -1.0}}
    ...     return [
    ...         [{"text": f"{source} {word}", "features": known[word]} for word in known]
    ...         for source in sources
    ...     ]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tuned = portmert.tune(
    ...         decode, ["a b", "c d"], ["a b d", "c d d"], start={"LM": 1, "TM": 0.1},
    ...         metric="wer", folder=folder, iterations=1, optimizer="mert:restarts=1",
    ...     )
    >>> print(str(tuned).splitlines()[0])
    wer ↓ 33.33 -> 0.00 on dev (iteration 2 of 2; the decoder found no new hypothesis)
    """
    every = {"seed": seed, "threads": threads, **settings}
    values: dict[str, Any] = {key: value for key, value in every.items() if value is not None}
    if "annotation_cache" in values:
        values["annotation_cache"] = Path(values["annotation_cache"]).absolute()
    if isinstance(decoder, Experiment):
        experiment = decoder
    elif callable(decoder):
        if sources is None or refs is None or not start or folder is None:
            raise ConfigError("tune with a function needs sources, refs, start and folder")
        place = Workplace.parse(executor or "local")
        of_function = provided("portmert.experiments", "function")
        sets = {"": (sources, refs)} | ({"test_": values["test"]} if "test" in values else {})
        experiment = of_function(
            decoder, sets, {"output": Path(folder).absolute(), **values}, start, metric, annotator
        )
        experiment = replace(experiment, executor=place)
    else:
        if sources is not None or refs is not None or start or folder is not None:
            raise ConfigError("sources, refs, start and folder are those of the configuration")
        overrides, limits = values.pop("overrides", ()), values.pop("constraints", None)
        experiment = configs.read_config(Path(decoder), overrides, values, annotator, executor)
        if limits is not None:
            experiment = replace(experiment, constraints=Constraints.of(limits))
    with using(progress=progress), opened(experiment.executor):
        result = run(experiment, fresh=fresh)
    return TunedDecoder(result, result.weights.plain(), experiment.tune.output, experiment.metric)
