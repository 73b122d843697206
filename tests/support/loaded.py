"""Import it in a process that forks: all that takes long is then imported and loaded once.

What numba does before its first kernel takes longest. No thread is left behind: none survives a
fork.
"""

import importlib

import numpy as np

from portmert.metrics._base import Batch, Ragged, Texts, Vocabulary
from portmert.metrics.bleu import Bleu
from portmert.tuner.search.optimizers.coordinate import Coordinate
from portmert.tuner.search.problem import TuningProblem
from portmert.tuner.search.stat_table import StatTable

for name in ("portmert.tuner.api.optimizing", "jinja2", "scipy.special", "tabulate"):
    importlib.import_module(name)

_EACH, _ALL = np.arange(3), np.array([0, 2])
_TEXTS = Texts(Vocabulary(["a", "b"]), Ragged(np.arange(2, dtype=np.int32), _EACH))
_REFERENCE = Texts(_TEXTS.vocabulary, Ragged(np.zeros(1, dtype=np.int32), _EACH[:2]))
_STATS = Bleu().stats(Batch(_TEXTS, _ALL, _REFERENCE, _EACH[:2]))
_PROBLEM = TuningProblem(np.array([[0.0, 1.0], [1.0, 0.0]]), _ALL, StatTable(_STATS), Bleu())
Coordinate(restarts=1).optimize(_PROBLEM, [np.ones(2)])
