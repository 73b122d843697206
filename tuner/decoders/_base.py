"""The base class of decoders, which turn weights into n-best lists."""

from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, NotRequired, TypedDict, Unpack

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass

from portmert.metrics._base import Texts

from ..base.components import Check, Component, Refuse, described
from ..weights.feature_weights import FeatureWeights


class Decoding(TypedDict):
    """What a decoder is asked for.

    Parameters
    ----------
    source, size
        The text, a segment a line, and the number of hypotheses of each.
    out
        The file to write: a Moses n-best list.
    workdir
        The folder for logs and scratch files.
    graphs
        The file to write the search graphs to: an archive by segment. Only asked of a decoder that
        `makes_graphs`.
    """

    source: Path
    size: int
    out: Path
    workdir: Path
    graphs: NotRequired[Path]


def _checked_weights(refuse: Refuse, weights: object) -> FeatureWeights:
    if not (isinstance(weights, FeatureWeights) and weights.values):
        refuse(described(weights), "FeatureWeights of one feature or more")
    return weights


def _checked_list(
    refuse: Refuse, _: object, weights: FeatureWeights, **request: Unpack[Decoding]
) -> None:
    del weights
    if not request["out"].is_file():
        refuse("without a list", f"one in {request['out']}")


def _checked_config(
    refuse: Refuse, _: object, weights: FeatureWeights, path: Path, *, header: str
) -> None:
    del weights, header
    if not path.exists():
        refuse("without a configuration", f"one in {path}")


@dataclass(frozen=True, config=ConfigDict(extra="forbid", allow_inf_nan=False))
class Decoder(Component):
    """A decoder that turns weights into n-best lists; its fields are the keys of [decoder].

    A subclass is a frozen pydantic dataclass in a file of the decoder's name.

    Attributes
    ----------
    inputs : tuple of str
        The fields that name files which must exist before a run begins. The content of these files
        is part of the run's identity.
    reads_whole : bool
        Whether the decoder can only decode the one text for which it was made, as a whole.
    """

    inputs: ClassVar[tuple[str, ...]] = ()
    reads_whole: ClassVar[bool] = False
    _family: ClassVar[str] = "decoder"
    _checks: ClassVar[Mapping[str, Check]] = {
        "read_weights": _checked_weights,
        "decode": _checked_list,
        "write_config": _checked_config,
    }

    def train(self) -> None:
        """Train and keep the models that are missing; `decode` does so too when it needs them."""

    @abstractmethod
    def read_weights(self) -> FeatureWeights:
        """Return the start weights of every tunable feature, in the decoder's order."""

    @abstractmethod
    def decode(self, weights: FeatureWeights, **request: Unpack[Decoding]) -> None:
        """Write the `size`-best list of every line of `source` to `out`, see `Decoding`.

        `out` is written whole or not at all. Segments are numbered from 0. Each has at least one
        hypothesis; the decoder's best one comes first. The same weights give the same bytes, on
        the workers of a `team` too.
        """

    @abstractmethod
    def write_config(self, weights: FeatureWeights, path: Path, *, header: str) -> None:
        """Write the decoder's configuration with `weights`; `header` says where they came from."""

    def check_texts(self, source: Path, references: Texts, *, linked: bool) -> None:
        """Raise `InputError` for what can be seen in the texts to fail or harm, before decoding.

        Parameters
        ----------
        source
            The text to decode.
        references
            As they stand, without text steps.
        linked
            Whether links to the words of the source are needed.
        """

    @property
    def dense_features(self) -> frozenset[str] | None:
        """Names of the dense features of the lists, all others are sparse; None: counts tell."""
        return None

    @property
    def hides_features(self) -> bool:
        """Whether the scores in the lists count features that are not tuned and not listed."""
        return False

    @property
    def makes_graphs(self) -> bool:
        """Whether `decode` writes search graphs, from which a run takes more hypotheses."""
        return False

    def graph_reader(self) -> Any:
        """Return the `GraphReader` of what `decode` writes; None to recognise the format."""
        raise NotImplementedError

    def untuned_weights(self) -> FeatureWeights:
        """Return the weights of features of the search graphs that are not tuned."""
        return FeatureWeights({})

    def close(self) -> None:
        """End what was kept from decoding to decoding."""
