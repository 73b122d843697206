"""Does from Python what the command line does: functions with the same arguments, and results.

It imports every room below it, each function's module when it is first asked for, so that
`import portmert` and `portmert --help` answer at once.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tuner.api.aligning import align as align
    from tuner.api.aligning import check_links as check_links
    from tuner.api.aligning import format_links as format_links
    from tuner.api.annotating import Annotated as Annotated
    from tuner.api.annotating import Trained as Trained
    from tuner.api.annotating import annotate as annotate
    from tuner.api.annotating import train_annotator as train_annotator
    from tuner.api.averaging import Averaged as Averaged
    from tuner.api.averaging import average as average
    from tuner.api.bayes import Mbr as Mbr
    from tuner.api.comparing import Compared as Compared
    from tuner.api.comparing import compare as compare
    from tuner.api.components import key_values as key_values
    from tuner.api.components import metric as metric
    from tuner.api.crossvalidating import CrossValidation as CrossValidation
    from tuner.api.crossvalidating import crossval as crossval
    from tuner.api.human_evaluation import make_sheets as make_sheets
    from tuner.api.human_evaluation import read_sheets as read_sheets
    from tuner.api.judging import Evaluated as Evaluated
    from tuner.api.judging import Report as Report
    from tuner.api.judging import metaeval as metaeval
    from tuner.api.lists import read_nbest as read_nbest
    from tuner.api.metric_learning import checked_groups as checked_groups
    from tuner.api.metric_learning import train_metric as train_metric
    from tuner.api.optimizing import Optimized as Optimized
    from tuner.api.optimizing import optimize as optimize
    from tuner.api.optimizing import optimize_dat as optimize_dat
    from tuner.api.planning import Needs as Needs
    from tuner.api.planning import Plan as Plan
    from tuner.api.planning import Planned as Planned
    from tuner.api.planning import Range as Range
    from tuner.api.planning import plan as plan
    from tuner.api.replicating import Replicas as Replicas
    from tuner.api.replicating import replicate as replicate
    from tuner.api.reporting import report as report
    from tuner.api.reporting import reproduce as reproduce
    from tuner.api.rerank_tuning import RerankTuned as RerankTuned
    from tuner.api.rerank_tuning import rerank_tune as rerank_tune
    from tuner.api.reranking import Reranked as Reranked
    from tuner.api.reranking import rerank as rerank
    from tuner.api.scoring import score as score
    from tuner.api.scoring import scores_as_json as scores_as_json
    from tuner.api.scoring import scores_as_text as scores_as_text
    from tuner.api.tuning import Replicated as Replicated
    from tuner.api.tuning import Result as Result
    from tuner.api.tuning import load_config as load_config
    from tuner.api.tuning import tune as tune

_NAMES = {
    "aligning": "align check_links format_links",
    "annotating": "Annotated Trained annotate train_annotator",
    "averaging": "Averaged average",
    "bayes": "Mbr",
    "comparing": "Compared compare",
    "components": "key_values metric",
    "crossvalidating": "CrossValidation crossval",
    "human_evaluation": "make_sheets read_sheets",
    "judging": "Evaluated Report metaeval",
    "metric_learning": "checked_groups train_metric",
    "lists": "read_nbest",
    "optimizing": "Optimized optimize optimize_dat",
    "planning": "Needs Plan Planned Range plan",
    "replicating": "Replicas replicate",
    "reporting": "report reproduce",
    "rerank_tuning": "RerankTuned rerank_tune",
    "reranking": "Reranked rerank",
    "scoring": "score scores_as_json scores_as_text",
    "tuning": "Replicated Result load_config tune",
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names.split()}
"""Name -> the module of this folder that holds it."""


def __getattr__(name: str) -> Any:
    """Import what is asked for."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
