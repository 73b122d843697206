"""The loop of mert-moses.pl: the same files in the same folder, with our search.

A run that ended early goes on with `--continue` after its last finished step, no matter which of
the two programs began it.
"""

import shlex
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import cast

import numpy as np

import portmert
from portmert.metrics._base import FloatArray, Vocabulary

from ..base.context import using
from ..base.errors import InputError, StateError, suggest
from ..base.files import copy_file, locked, make_folder, writing
from ..base.programs import Command
from ..base.programs import run as run_program
from ..base.warn import collected_notices, notice, warn
from ..components import registry
from ..decoders.moses import Moses
from ..executors.opening import opened
from ..nbest.check import score_fault, warn_of_few
from ..nbest.moses_dat import DatLists, merge_dat, write_features, write_scores
from ..runs.result import FEWEST, is_behind, is_cut
from ..search.constraints import moves
from ..weights.feature_weights import FeatureNames, FeatureWeights
from ..weights.weights_file import sparse_text
from . import mert
from ._mert_folder import FINISHED, NOT_ESTIMATED, SHARE, StepFolder
from ._mert_moses_options import MertRequest
from ._program import number, printed_score
from .extractor import extract

SEEDS = 10**6
"""Steps of a run draw from this many seeds, so that runs of different seeds share none."""
PATIENCE = 3
"""The default search ends after so many runs without a better score of the decoder's output."""


@dataclass
class State:
    """How far a run has come.

    Parameters
    ----------
    weights : FeatureWeights
        Weights of the next decoding; sparse ones too.
    score : str
        As the last search printed it.
    gain : tuple or None
        How much higher these weights score on the lists than the ones before, see `mert.Stepped`.
    shares : list
        The share of each step, see `mert.Stepped`; empty if steps go the whole way.
    finished : int
        The last finished step.
    steps : dict
        Step -> its lists; only those that are still used.
    decoder_scores : dict
        Step -> the printed score of the decoder's own best output.
    hypotheses, new_hypotheses : int
        How many distinct hypotheses these lists have, and how many the last step added.
    """

    weights: FeatureWeights
    score: str = NOT_ESTIMATED
    gain: tuple[float, float] | None = None
    shares: list[float] = field(default_factory=list)
    finished: int = 0
    steps: dict[int, DatLists] = field(default_factory=dict)
    decoder_scores: dict[int, float] = field(default_factory=dict)
    hypotheses: int = 0
    new_hypotheses: int = 0

    def merged(self) -> DatLists:
        """Merge all lists, and count what is new in them."""
        lists = merge_dat([self.steps[step] for step in sorted(self.steps)])
        self.new_hypotheses = len(lists.features) - self.hypotheses
        self.hypotheses = len(lists.features)
        return lists


def run(request: MertRequest) -> list[tuple[Path, str]]:
    """Tune as asked; return the tuned moses.ini and its score as printed, of each replica.

    Replicas are in folders of their own below that of the request, `replica-1` and so on. Each
    has a seed of its own; they share the filtered model and the first decoding.

    Raises
    ------
    PortmertError
        The input does not fit, the decoder failed, the folder cannot be continued.
    """
    folders = [request.folder]
    if request.replicas > 1:
        folders += [request.folder / f"replica-{n}" for n in range(1, request.replicas + 1)]
    with ExitStack() as locks:
        for folder in folders:
            make_folder(folder)
            fault = StateError(
                f"{folder}: another run is at work there; wait for its end, or name another "
                f"--working-dir"
            )
            locks.enter_context(locked(folder, fault))
        config = _filtered(request)
        with using(threads=request.threads), opened(request.executor):
            if request.replicas == 1:
                return [_Run(request, config).result()]
            results = []
            for replica, folder in enumerate(folders[1:], 1):
                notice(f"replica {replica} of {request.replicas}")
                seed = request.replicas * request.seed + replica
                replica_request = replace(request, folder=folder, seed=seed)
                if replica > 1 and not (request.go_on and (folder / FINISHED).is_file()):
                    for path in (*_lists(replica_request, 1), folder / "run1.out"):
                        copy_file(folders[1] / path.name, path)
                    replica_request = replace(replica_request, skip_decoder=True, go_on=False)
                results.append(_Run(replica_request, config).result())
            return results


@dataclass
class _Run:
    request: MertRequest
    config: Path

    def __post_init__(self) -> None:
        request, self.folder = self.request, self.request.folder
        # The decoder's threads are those of its configuration or flags.
        options = {
            "config": self.config,
            "program": request.program,
            "flags": request.flags,
            "threads": 1,
            "jobs": request.jobs,
            "timeout_seconds": request.timeout_seconds,
        }
        self.decoder = cast("Moses", registry.decoder("moses", options, where="--decoder-flags"))
        features = self.decoder.shown_features()
        self.names: FeatureNames = features.names
        # Faults of references and of named features are found before the first decoding.
        references = request.scorer.plain_references(request.references, Vocabulary())
        warn_of_few(len(references))
        self.ranges = self._ranges()
        for name, size in self.names:
            if (count := len(request.ranges.get(name, ()))) > size:
                too_many = f"--range: {count} ranges for {name}"
                notice(f"{too_many}, of which mert-moses.pl too uses {size}")
        mert.check_columns((*request.active, *request.positive), self.names)
        self.files = StepFolder(request.folder, features.names, request.scorer)
        self.files.write_features_list(features)

    # The loop.

    def result(self) -> tuple[Path, str]:
        """Make all steps, then the tuned configuration."""
        request = self.request
        for note in request.scorer.notes:
            notice(note)
        state = self._continued() if request.go_on else State(self._start())
        first = state.finished + 1
        for step in range(first, request.iterations + 1):
            before = self.files.vector(state.weights)
            self._step(step, state, skip_decoder=request.skip_decoder and step == first)
            self.files.write(FINISHED, f"{step}\n")
            state.finished = step
            change = np.abs(before - self.files.vector(state.weights)).max()
            if change < request.least_change and not is_cut(state.shares, step):
                notice(f"no weight changed by {request.least_change:g} or more; stopping")
                break
            if request.optimizer.holds_out and (reason := self._exhausted(state)):
                notice(f"{reason}; stopping")
                break
        else:
            line = f"maximum number of iterations reached ({request.iterations})"
            notice(line)
            if is_cut(state.shares, state.finished):
                warn(f"{line}, but the last step was cut short; more runs would lead farther")
        return self._finish(state)

    def _exhausted(self, state: State) -> str:
        """Return why more steps are of no use, by the rules of `portmert tune`; or an empty text.

        A step goes only a share of the way, so the weights themselves come to rest late.
        """
        if self.request.aggregate < 0 and not state.new_hypotheses:
            was_whole = is_behind(
                state.shares[:-1]
            )  # the rest of the way, which nobody has decoded
            return "" if was_whole else "the decoder found no new hypothesis"
        if any(is_cut(state.shares, step) for step in (state.finished - 1, state.finished)):
            return ""
        scores = self._decoder_scores(state)
        if state.finished - max(scores, key=lambda step: scores[step]) >= PATIENCE:
            return f"the score of the decoder's own output has not risen for {PATIENCE} runs"
        if self.request.least_gain and state.gain is not None and state.finished >= FEWEST:
            gain, error = state.gain
            if gain <= self.request.least_gain * error:
                return f"the new weights gain {gain:.6f} ± {error:.6f} on all lists"
        return ""

    def _step(self, step: int, state: State, *, skip_decoder: bool) -> None:
        notice(f"run {step} start")
        self._write_config(f"run{step}.moses.ini", state, step)
        dense = ((name, v) for name, _ in self.names for v in state.weights.values[name])
        text = "".join(f"{name}= {number(value)}\n" for name, value in dense)
        self.files.write(f"run{step}.dense", text)
        if skip_decoder:
            notice(f"skipped decoder run {step}")
        else:
            self._decode(step, state.weights)
        state.steps[step] = self._extract(step, state.weights)
        first = self._first_used(step - 1)
        state.steps = {k: lists for k, lists in state.steps.items() if k >= first or k == step}
        # Where the search begins, the lowest random weights and the highest.
        starts = (self.files.vector(state.weights), *self.ranges)
        text = "".join(" ".join(map(number, row)) + "\n" for row in starts)
        self.files.write("init.opt", text, step=step)
        weights, score = self._find_weights(step, state)
        weights = self._interpolated(step, state.weights, weights)
        state.weights, state.score = weights, score
        if sparse := self.files.sparse(weights):
            self.files.write(f"run{step + 1}.sparse-weights", sparse_text(sparse))
        text = " ".join(f"{value:.4g}" for value in self.files.vector(weights))
        notice(f"({step}) BEST at {step}: {text} => {score}")

    def _first_used(self, last: int) -> int:
        """Return the first step whose lists are used behind step `last`, as mert-moses.pl does."""
        if self.request.aggregate < 0:
            return 1
        return max(1, last - self.request.aggregate + 1)

    # Decoding.

    def _decode(self, step: int, weights: FeatureWeights) -> None:
        if step == 1:
            # Absolute weights found by mert add to 1; those of the first decoding must, too.
            size = float(np.abs(self.files.vector(weights)).sum()) or 1.0
            weights = FeatureWeights(
                {
                    name: tuple(v / size for v in values) if name in dict(self.names) else values
                    for name, values in weights.values.items()
                }
            )
        nbest, *samples = _lists(self.request, step)
        first_of_config = step == 1 and self.request.config_weights_first
        self.decoder.write_lists(
            None if first_of_config else weights,
            {
                "source": self.request.source,
                "size": self.request.nbest,
                "out": nbest,
                "workdir": self.folder / "decoder",
            },
            best=self.folder / f"run{step}.out",
            sampled=(samples[0], self.request.lattice_samples) if samples else None,
            links="links" in self.request.scorer.metric.needs,
        )

    # Counting and searching.

    def _extract(self, step: int, weights: FeatureWeights) -> DatLists:
        paths = _lists(self.request, step)
        for path in paths:
            if not path.is_file():
                raise StateError(f"{path}: is not there; leave out --skip-decoder")
        with collected_notices() as notes:
            lists, nbest = extract(paths, self.request.references, self.request.scorer)
        if lists.feature_names != self.names:
            raise InputError(
                f"{paths[0]}: features {' '.join(mert.column_names(lists.feature_names))}, but "
                f"the decoder said {' '.join(mert.column_names(self.names))}"
            )
        if fault := score_fault(nbest, weights).text:
            warn(f"run {step}: {fault}")
        lists = merge_dat([lists])
        write_features(lists, self.folder / f"run{step}.features.dat")
        write_scores(lists, self.folder / f"run{step}.scores.dat")
        scorer = f"Scorer type: {self.request.scorer.metric.signature}"
        notes_text = "".join(f"{note}\n" for note in (scorer, *notes))
        self.files.write("extract.err", notes_text, step=step)
        self.files.write("extract.out", "", step=step)
        for note in notes:
            notice(note)
        return lists

    def _find_weights(self, step: int, state: State) -> tuple[FeatureWeights, str]:
        request = self.request
        lists = state.merged()
        # An optimizer that holds segments out must begin at weights that were found on none of
        # them, and goes only a share of the way, as in `portmert tune`.
        start = self.files.weights(1) if request.optimizer.holds_out else state.weights
        points = [self.files.vector(start)]
        if request.historic_bests:
            for k in range(self._first_used(step - 1), step):
                earlier = mert.read_starts([self.folder / f"run{k}.init.opt"], len(points[0]))
                points.append(earlier.points[0])
        dealt = 1 if request.optimizer.holds_out else step  # the same folds in every step
        seed = SEEDS * request.seed + dealt * (1000 if request.predictable_seeds else 1)
        search = partial(
            mert.find_weights_as_mert,
            lists,
            request.scorer.metric,
            active=request.active,
            seed=seed,
        )
        with collected_notices() as notes:
            if request.from_pro:
                if lists.sparse is not None:
                    raise InputError(
                        "--pro-starting-point: the lists have sparse features, whose weights only "
                        "--pairwise-ranked and --batch-mira find"
                    )
                pro, *_ = search(request.from_pro, mert.Starts(tuple(points[:1]), *self.ranges))
                points.append(self.files.vector(pro))
            is_rest = (
                request.aggregate < 0 and not state.new_hypotheses and is_behind(state.shares)
            )
            weights, score, stepped = search(
                request.optimizer,
                mert.Starts(tuple(points), *self.ranges),
                positive=request.positive,
                sparse=FeatureWeights(self.files.sparse(start)),
                step=mert.Step(step, state.weights, is_rest)
                if request.optimizer.holds_out
                else None,
            )
        if stepped is not None:
            state.gain = stepped.gain
            state.shares.append(stepped.share)
            if is_rest or is_cut(state.shares, step):
                notes.append(f"{SHARE} {number(stepped.share)}")
        printed = f"{printed_score(request.scorer.metric, score):.6f}"
        self.files.write_search(step, weights, float(printed), notes)
        for note in notes:
            notice(note)
        return weights, printed

    def _ranges(self) -> tuple[FloatArray, FloatArray]:
        """Return the (F,) lowest and highest weights of random starts.

        Raises
        ------
        InputError
            The decoder has no such feature.
        """
        ranges: list[tuple[float, float]] = []
        by_feature = self.request.ranges
        for name, size in self.names:
            pairs = list(by_feature.get(name, []))[:size]
            ranges += pairs + [mert.DEFAULT_RANGE] * (size - len(pairs))
        sizes = dict(self.names)
        for name in by_feature:
            if name not in sizes:
                raise InputError(f"--range: there is no feature {name}{suggest(name, sizes)}")
        low, high = np.array(ranges).T
        return low, high

    def _interpolated(
        self, step: int, before: FeatureWeights, after: FeatureWeights
    ) -> FeatureWeights:
        share = self.request.interpolation
        if not share or step < 4:  # as in mert-moses.pl
            return after
        weights = before.towards(after, share)
        text = "".join(f"{number(value)} " for value in self.files.vector(weights)) + "\n"
        self.files.write(f"run{step}.weights.txt", text)
        return weights

    def _start(self) -> FeatureWeights:
        """Return the decoder's weights, those that must be positive made so."""
        weights = self.decoder.read_weights()
        limits = mert.constraints_of(self.names, self.request.active, self.request.positive)
        allowed = limits.allowed(weights, self.names)
        if line := moves(weights, allowed):
            warn(line)
        return allowed

    # Files that earlier steps left.

    def _continued(self) -> State:
        step = self.files.last_finished()
        state = State(self._start(), finished=step)
        if step == 0:
            return state
        notice(f"last finished step is {step}")
        for k in range(self._first_used(step), step + 1):
            for name in ("features.dat", "scores.dat", "init.opt"):
                self.files.demand(f"run{k}.{name}", step)
            state.steps[k] = self.files.lists(k)
        for name in (
            f"run{step}.mert.log",
            f"run{step}.weights.txt",
            *(path.name for path in _lists(self.request, step)),
        ):
            self.files.demand(name, step)
        for k, lists in state.steps.items():
            self.files.check_step(k, lists)
        state.merged()
        state.weights, state.score = self.files.result_of(step)
        if self.request.optimizer.holds_out:
            state.shares = [self.files.share_of(k) for k in range(1, step + 1)]
        return state

    # Files that are left for others.

    def _finish(self, state: State) -> tuple[Path, str]:
        step, best = state.finished, state
        if self.request.return_best:
            scores = self._decoder_scores(state)  # nobody decoded what the last step found
            step = max(scores, key=lambda step: scores[step])
            best = State(self.files.weights(step), f"{scores[step]:.4f}")
            notice(f"copying weights from best iteration ({step}, {best.score}) to moses.ini")
        self._write_config("moses.ini", best, step, config=self.request.config)
        self.files.write(FINISHED, f"{state.finished}\n")
        return self.folder / "moses.ini", best.score

    def _decoder_scores(self, state: State) -> dict[int, float]:
        """Return step -> the printed score of the decoder's own best output."""
        metric = self.request.scorer.metric
        for step in range(1, state.finished + 1):
            if step not in state.decoder_scores:
                lists = state.steps.get(step) or self.files.lists(step)
                total = lists.stats[lists.offsets[:-1]].sum(axis=0)
                state.decoder_scores[step] = printed_score(metric, float(metric.score(total)))
        return state.decoder_scores

    def _write_config(
        self, name: str, state: State, step: int, *, config: Path | None = None
    ) -> None:
        scorer = self.request.scorer
        header = (
            f"MERT optimized configuration\n"
            f"decoder {self.request.program}\n"
            f"{scorer.name} {state.score} on dev {self.request.source}\n"
            f"We were before running iteration {step}\n"
            f"finished {datetime.now(UTC):%a %b %d %H:%M:%S UTC %Y}\n"
            f"portmert {portmert.__version__}, {scorer.metric.signature}"
        )
        path = self.folder / name
        content = self.decoder.tuned_ini(
            config or self.decoder.config, state.weights, path, header=header
        )
        with writing(path) as out:
            out.write(content)


def _lists(request: MertRequest, step: int) -> list[Path]:
    """Return a step's lists: n-best, and samples of lattices where asked for."""
    kinds = {"best": request.nbest, "lsamp": request.lattice_samples}
    return [
        request.folder / f"run{step}.{kind}{size}.out.gz" for kind, size in kinds.items() if size
    ]


def _filtered(request: MertRequest) -> Path:
    """Return the configuration of the filtered model, made once, or the one given."""
    if not request.filter_command:
        return request.config
    config = request.folder / "filtered" / "moses.ini"
    if config.is_file():
        notice(f"the tables are filtered already: {config}")
        return config
    command = [*shlex.split(request.filter_command), "./filtered", str(request.config)]
    command.append(str(request.filter_input))
    notice(f"filtering the phrase tables: {shlex.join(command)}")
    filtering = Command(
        command,
        request.folder / "filterphrases.err",
        request.folder / "filterphrases.out",
        folder=request.folder,
        timeout_seconds=request.timeout_seconds,
    )
    run_program(filtering)
    if not config.is_file():
        raise filtering.failure("wrote no filtered/moses.ini")
    return config
