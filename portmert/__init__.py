"""Tunes translation weights exactly on any metric that has sufficient statistics.

Functions take the same arguments as the commands of the same names; `help(portmert.optimize)`
shows them. A new component derives from one of the bases here.
"""

import sys

# `python -m portmert` puts the current folder in front, and with it whatever lies there under the
# name of a module. Only what is imported from here on can be kept from that.
if (
    sys.argv[:1] == ["-m"]
    and not sys.flags.safe_path
    and f"{sys.path[0]}/portmert/__init__.py" != __file__
):
    del sys.path[0]

import importlib
from typing import TYPE_CHECKING, Any

from portmert._shadowed import shadowed

if TYPE_CHECKING:
    from aligners._base import Aligner as Aligner
    from metrics._base import Batch as Batch
    from metrics._base import Metric as Metric
    from metrics._base import Need as Need
    from metrics._base import Texts as Texts
    from metrics._base import Vocabulary as Vocabulary
    from tuner import __version__ as __version__
    from tuner.annotation.annotators._base import Annotator as Annotator
    from tuner.api.aligning import align as align
    from tuner.api.annotating import annotate as annotate
    from tuner.api.annotating import train_annotator as train_annotator
    from tuner.api.averaging import Averaged as Averaged
    from tuner.api.averaging import average as average
    from tuner.api.bayes import Mbr as Mbr
    from tuner.api.comparing import Compared as Compared
    from tuner.api.comparing import compare as compare
    from tuner.api.components import metric as metric
    from tuner.api.crossvalidating import CrossValidation as CrossValidation
    from tuner.api.crossvalidating import crossval as crossval
    from tuner.api.lists import read_nbest as read_nbest
    from tuner.api.optimizing import Optimized as Optimized
    from tuner.api.optimizing import optimize as optimize
    from tuner.api.planning import Plan as Plan
    from tuner.api.planning import plan as plan
    from tuner.api.replicating import Replicas as Replicas
    from tuner.api.replicating import replicate as replicate
    from tuner.api.rerank_tuning import rerank_tune as rerank_tune
    from tuner.api.reranking import Reranked as Reranked
    from tuner.api.reranking import rerank as rerank
    from tuner.api.scoring import score as score
    from tuner.api.tuning import tune as tune
    from tuner.decoders._base import Decoder as Decoder
    from tuner.errors import PortmertError as PortmertError
    from tuner.nbest.model import NBest as NBest
    from tuner.nbest.readers._base import Reader as Reader
    from tuner.search.constraints import Constraints as Constraints
    from tuner.search.optimizers._base import Optimizer as Optimizer
    from tuner.texts.scoring import Score as Score
    from tuner.weights.feature_weights import FeatureWeights as FeatureWeights

_NAMES = {
    "aligners._base": "Aligner",
    "metrics._base": "Batch Metric Need Texts Vocabulary",
    "tuner": "__version__",
    "tuner.annotation.annotators._base": "Annotator",
    "tuner.api.aligning": "align",
    "tuner.api.annotating": "annotate train_annotator",
    "tuner.api.averaging": "average Averaged",
    "tuner.api.bayes": "Mbr",
    "tuner.api.comparing": "compare Compared",
    "tuner.api.components": "metric",
    "tuner.api.crossvalidating": "crossval CrossValidation",
    "tuner.api.lists": "read_nbest",
    "tuner.api.optimizing": "optimize Optimized",
    "tuner.api.planning": "plan Plan",
    "tuner.api.replicating": "replicate Replicas",
    "tuner.api.rerank_tuning": "rerank_tune RerankTuned",
    "tuner.api.reranking": "rerank Reranked",
    "tuner.api.scoring": "score",
    "tuner.api.tuning": "tune",
    "tuner.decoders._base": "Decoder",
    "tuner.errors": "PortmertError",
    "tuner.nbest.model": "NBest",
    "tuner.nbest.readers._base": "Reader",
    "tuner.search.constraints": "Constraints",
    "tuner.search.optimizers._base": "Optimizer",
    "tuner.texts.scoring": "Score",
    "tuner.weights.feature_weights": "FeatureWeights",
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names.split()}
"""Name -> where it is defined: imported when it is first asked for."""

__all__ = [*_MODULES]  # noqa: PLE0604  strings, all of them


def __getattr__(name: str) -> Any:
    """Import what is asked for, unless packages of others stand in the way of ours."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    fault = shadowed()
    if fault:
        raise ImportError(fault)
    return getattr(importlib.import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    """Return all names, for completion."""
    return sorted({*globals(), *_MODULES})
