"""Says what is tried: by what weights are found, on which metric, without which features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

import numpy as np

from portmert.tuner.ground.errors import ConfigError, suggest
from portmert.tuner.nbest.model import NBest
from portmert.tuner.search.constraints import columns_of
from portmert.tuner.search.optimizers._base import Optimizer


@dataclass(frozen=True)
class Choice:
    """Holds one way to find weights.

    Parameters
    ----------
    tuned_on
        The metric, as it was written.
    by
        The optimizer, as it was written; `optimizer` is itself.
    without
        Features left out.
    prior
        Strength of the pull towards the start weights; 0 for none.
    """

    tuned_on: str
    by: str
    optimizer: Optimizer = field(repr=False)
    without: tuple[str, ...] = ()
    prior: float = 0.0


def choices_of(
    metrics: Sequence[str],
    optimizers: Mapping[str, Optimizer],
    without: Sequence[tuple[str, ...]],
    priors: Sequence[float],
) -> list[Choice]:
    """Return every metric with every optimizer, prior and set of features left out.

    The first leaves none out; sets that are named come after it.
    """
    return [
        Choice(metric, by, optimizer, left_out, prior)
        for metric, left_out, prior, (by, optimizer) in product(
            metrics, ((), *without), priors, optimizers.items()
        )
    ]


def leave_out(nbest: NBest, names: Sequence[str]) -> NBest:
    """Return the lists with some features 0 in all hypotheses, so that no weight moves anything.

    Parameters
    ----------
    names
        Of features, of one value of a feature (`TM0_1`), or of sparse features.

    Raises
    ------
    ConfigError
        The lists have no such feature.
    """
    if not names:
        return nbest
    features, sparse = nbest.features.copy(order="F"), nbest.sparse
    known = () if sparse is None else sparse.names
    for name in names:
        if name not in known:
            features[:, _columns(name, nbest, known)] = 0.0
    if sparse is not None:
        is_kept = np.array([name not in names for name in sparse.names])
        sparse = replace(sparse, values=sparse.values * is_kept[sparse.columns])
    return replace(nbest, features=features, sparse=sparse)


def _columns(name: str, nbest: NBest, sparse: Sequence[str]) -> list[int]:
    try:
        return columns_of(name, nbest.feature_names)
    except ConfigError:
        known = (*(dense for dense, _ in nbest.feature_names), *sparse)
        raise ConfigError(
            f"--without {name}: the lists have no such feature{suggest(name, known)}"
        ) from None
