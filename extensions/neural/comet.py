"""COMET: scores by the neural networks of unbabel-comet, which `portmert[comet]` installs.

    comet:MODEL[,batch=16][,device=auto|cpu|cuda]

MODEL is a checkpoint, a folder with `checkpoints/model.ckpt`, or the name of a model that Hugging
Face's tools have downloaded; nothing is downloaded here. Scores are kept in the cache of
annotations, so the same source, hypothesis and reference are scored only once.
"""

from __future__ import annotations

import dataclasses
import os
import struct
import threading
import warnings
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from annotated_types import Gt, Le
from pydantic.dataclasses import dataclass

from portmert.metrics._base import Batch, FloatArray, Need
from portmert.tuner.annotation.annotators import _models
from portmert.tuner.annotation.cache import AnnotationCache, Row, default_folder, line_key
from portmert.tuner.base import options
from portmert.tuner.base.context import current
from portmert.tuner.base.errors import ConfigError, InputError, faults_at
from portmert.tuner.base.extras import require
from portmert.tuner.base.files import expanded
from portmert.tuner.components.external import NeuralMetric

LAYER = "score"
REFERENCE_FREE = "referenceless_regression_metric"
KEPT_TOGETHER = 512
"""Scores are kept in portions of this size, so that little is lost if the process dies."""

Sample = tuple[str, ...]
"""Source, hypothesis and, where the model reads one, reference."""


@dataclass(frozen=True)
class Comet(NeuralMetric):
    """Averages the scores that a COMET model gives each segment.

    With several references, the highest score of a hypothesis counts. COMET gets the tokens joined
    by spaces. It sees running text only if the lists and references are running text.

    Parameters
    ----------
    model
        A checkpoint, a folder with `checkpoints/model.ckpt`, or a name.
    batch
        Number of texts that go through the network at once.
    device
        `auto` uses a GPU if there is one.
    of
        The beginning of the checkpoint's hash, as in the metric's signature. Any other checkpoint
        is an error.
    """

    model: str
    batch: Annotated[int, Gt(0), Le(65536)] = 16
    device: Literal["auto", "cpu", "cuda"] = "auto"
    of: str = ""

    needs: ClassVar[frozenset[Need]] = frozenset({"source"})
    source: ClassVar[str] = "Rei et al., EMNLP 2020; unbabel-comet"
    _state: dict[str, Any] = dataclasses.field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _lock: Any = dataclasses.field(
        default_factory=threading.RLock, init=False, repr=False, compare=False
    )

    @classmethod
    def written(cls, argument: str) -> Comet:
        """Return the metric written `comet:MODEL` or `comet:MODEL,option=value`.

        Raises
        ------
        ConfigError
            The form is another, or the model is not there.
        """
        model, *items = map(options.unquoted, options.split(argument, ","))
        model_options: dict[str, Any] = {}
        for item in items:
            key, equals, value = options.name_value(item)
            if key not in ("batch", "device", "of") or not equals or key in model_options:
                raise ConfigError(
                    f"metric comet: '{item}': write comet:MODEL,batch=16,device=cpu, each option "
                    f"once"
                )
            model_options[key] = value
        if not model:
            raise ConfigError("metric comet: name a model, as comet:Unbabel/wmt22-comet-da")
        with faults_at("metric comet", ValueError, ConfigError):
            built = cls(model, **model_options)
        built.load()
        return built

    def load(self) -> None:
        """Find the model and its settings; the network is loaded at the first score.

        Raises
        ------
        ConfigError
            The model is not there, or is not COMET's.
        """
        _ = self.reads_references
        digest = _models.digest(self.checkpoint)
        if not digest.startswith(self.of):
            raise ConfigError(
                f"metric comet: {self.checkpoint}: of={self.of} is asked for, found {digest[:8]}: "
                f"the model has changed"
            )

    @property
    def signature(self) -> str:
        """The name or the folder of the model, and the hash of its content."""
        digest = _models.digest(self.checkpoint)[:8]
        return f"comet:{options.quoted(self.model)},of={digest}"

    @cached_property
    def checkpoint(self) -> Path:
        """The checkpoint's file.

        Raises
        ------
        ConfigError
            There is no such file.
        """
        model_path = expanded(self.model)
        for path in (model_path, model_path / "checkpoints" / "model.ckpt"):
            if path.is_file():
                return path
        if model_path.exists() or model_path.is_absolute() or self.model.count("/") != 1:
            raise ConfigError(
                f"metric comet: {self.model}: no checkpoint there; expected a .ckpt, a folder "
                f"with checkpoints/model.ckpt, or a name as Unbabel/wmt22-comet-da"
            )
        _require()
        from huggingface_hub import snapshot_download  # noqa: PLC0415  optional
        from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError  # noqa: PLC0415

        try:
            folder = snapshot_download(self.model, local_files_only=True)
        except (LocalEntryNotFoundError, HfHubHTTPError, OSError, ValueError):
            raise ConfigError(
                f"metric comet: {self.model} is neither a file nor fetched yet, and nothing is "
                f"downloaded here; fetch it with: huggingface-cli download {self.model}"
            ) from None
        return Path(folder) / "checkpoints" / "model.ckpt"

    @cached_property
    def reads_references(self) -> bool:  # type: ignore[override]  # the model says
        """Whether the model reads references."""
        settings = _settings(self.checkpoint)
        kind = settings.get("class_identifier")
        if not isinstance(kind, str):
            raise ConfigError(
                f"{_settings_file(self.checkpoint)}: no class_identifier; is this COMET's?"
            )
        if kind == "unified_metric":
            segments = settings.get("input_segments", ["mt", "src", "ref"])
            if not isinstance(segments, list):
                raise ConfigError(
                    f"{_settings_file(self.checkpoint)}: input_segments is {segments!r}, expected "
                    f"a list as [mt, src, ref]"
                )
            return "ref" in segments
        return kind != REFERENCE_FREE

    def __reduce__(self) -> tuple[type[Comet], tuple[str, int, str, str]]:
        """Travel to other processes without the cache and the lock that are in use here."""
        return Comet, (self.model, self.batch, self.device, self.of)

    def use(self) -> None:
        """Keep scores in the cache of the context from now on, and show progress there."""
        with self._lock:
            self._state.clear()
            self._state.update(context=current())

    def stats(self, batch: Batch) -> FloatArray:
        """Return (H, 2): the score of each hypothesis, and 1."""
        if batch.source is None:
            raise InputError("metric comet reads the source text: give --source")
        samples: list[Sample] = []
        owners: list[int] = []
        for s in range(len(batch)):
            first, last = batch.reference_offsets[s : s + 2].tolist()
            references = [" ".join(batch.references.words(r)) for r in range(first, last)]
            for h in range(int(batch.offsets[s]), int(batch.offsets[s + 1])):
                pair = (batch.source[s], " ".join(batch.hypotheses.words(h)))
                hypothesis_samples = (
                    [(*pair, text) for text in references] if self.reads_references else [pair]
                )
                samples += hypothesis_samples
                owners += [h] * len(hypothesis_samples)
        scores = np.full(len(batch.hypotheses), -np.inf)
        with self._lock:
            np.maximum.at(scores, owners, self._scores(samples))
        return np.column_stack([scores, np.ones(len(scores))])

    @property
    def _store(self) -> AnnotationCache:
        if not self._state:
            self.use()
        if "store" not in self._state:
            settings = _settings_file(self.checkpoint)
            print_of = _models.fingerprint("comet", _require(), {}, self.checkpoint, settings)
            self._state["store"] = AnnotationCache(
                self._state["context"].annotation_cache or default_folder(), print_of
            )
        store: AnnotationCache = self._state["store"]
        return store

    def _scores(self, samples: Sequence[Sample]) -> FloatArray:
        """Return the score of each sample, from the cache or the network."""
        distinct = list(dict.fromkeys(samples))
        keys = [line_key("\n".join(sample)) for sample in distinct]
        stored = self._store.get([LAYER], keys)[LAYER]
        score_of = {
            sample: struct.unpack("<d", record)[0]
            for sample, record in zip(distinct, stored, strict=True)
            if record is not None
        }
        missing = [sample for sample in distinct if sample not in score_of]
        # Texts of similar length go through the network together.
        missing.sort(key=lambda sample: (sum(map(len, sample)), sample))
        rows: list[Row] = []
        for begin in range(0, len(missing), self.batch):
            part = missing[begin : begin + self.batch]
            scores = _network(self.checkpoint, self.device)(part)
            for sample, score in zip(part, scores, strict=True):
                if not np.isfinite(score):
                    raise InputError(f"metric comet: {self.model} gives '{sample[1]}' {score}")
                score_of[sample] = score
                rows.append((line_key("\n".join(sample)), {LAYER: struct.pack("<d", score)}))
            count = begin + len(part)
            self._state["context"].progress("annotating", count, len(missing))
            if len(rows) >= KEPT_TOGETHER or count == len(missing):
                self._store.put(rows)
                rows = []
        return np.array([score_of[sample] for sample in samples], dtype=np.float64)


def _require() -> str:
    """Return the version of unbabel-comet; raise ProgramError if it is not installed."""
    return require("unbabel-comet", extra="comet")


def _settings_file(checkpoint: Path) -> Path:
    return checkpoint.parent.parent / "hparams.yaml"


def _settings(checkpoint: Path) -> dict[str, Any]:
    """Return the plain values in a checkpoint's hparams.yaml."""
    path = _settings_file(checkpoint)
    _require()
    import yaml  # noqa: PLC0415  comes with unbabel-comet

    try:
        settings = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(
            f"{path}: {error.strerror}; COMET keeps it beside checkpoints/"
        ) from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"{path}: no YAML of plain values: {' '.join(str(error).split())}"
        ) from None
    if not isinstance(settings, dict):
        raise ConfigError(f"{path}: no table of settings; is this COMET's?")
    return settings


@lru_cache(maxsize=2)
def _network(checkpoint: Path, device: str) -> Callable[[Sequence[Sample]], list[float]]:
    """Load a model and return a function that scores samples with it.

    Raises
    ------
    InputError
        The model cannot be loaded. Pickled objects are refused: only numbers are loaded.
    """
    _require()
    # With it every torch.load, also Lightning's, unpickles nothing but tensors.
    os.environ["TORCH_FORCE_WEIGHTS_ONLY_LOAD"] = "1"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # libraries warn of each other
        torch = import_module("torch")  # optional, slow
        load_from_checkpoint = import_module("comet").load_from_checkpoint
        if device == "cuda" and not torch.cuda.is_available():
            raise InputError("metric comet: device=cuda, but torch sees no GPU; device=cpu works")
        try:
            torch.load(checkpoint, map_location="cpu", weights_only=True, mmap=True)
            model = load_from_checkpoint(str(checkpoint), local_files_only=True)
        except Exception as error:  # noqa: BLE001  four libraries, each with errors of its own
            first = " ".join(str(error).split())[:200]
            raise InputError(f"metric comet: {checkpoint} cannot be loaded: {first}") from None
    place = "cuda" if device != "cpu" and torch.cuda.is_available() else "cpu"
    model.eval().to(place)

    def scored(samples: Sequence[Sample]) -> list[float]:
        names = ("src", "mt", "ref")
        rows = [dict(zip(names, sample, strict=False)) for sample in samples]
        with torch.inference_mode():
            inputs = model.transfer_batch_to_device(model.prepare_for_inference(rows), place, 0)
            return [float(score) for score in model.predict_step(inputs)["scores"]]

    return scored
