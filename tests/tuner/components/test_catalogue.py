from dataclasses import dataclass, field
from typing import ClassVar, Literal

import pytest

from tuner.components import catalogue, registry
from tuner.components.catalogue import Option, describe
from tuner.errors import ConfigError


@dataclass(frozen=True)
class Example:
    """Does something
    over two lines.

    More about it.

    Parameters
    ----------
    choice
        One of these:
        `a`: the first,
        and best.
        `b`: the second.
    low, high : float
        Limits.
    many
        Others.

    References
    ----------
    None.
    """

    low: float
    choice: Literal["a", "b"] = "a"
    high: float | None = None
    many: list[str] = field(default_factory=list)

    bounds: ClassVar[dict[str, tuple[float, float]]] = {"low": (0, float("inf"))}


def test_options_come_from_fields_and_docstring(monkeypatch):
    monkeypatch.setattr(registry, "component", lambda family, name: Example)  # noqa: ARG005
    found = describe("metric", "example")
    assert found.summary == "Does something\nover two lines."
    assert found.description == "More about it."
    assert found.options == (
        Option("low", "number, at least 0", None, "Limits."),
        Option(
            "choice", "a | b", "a", "One of these:\n`a`: the first, and best.\n`b`: the second."
        ),
        Option("high", "number", "unset", "Limits."),
        Option("many", "list[str]", "[]", "Others."),
    )


def test_bounds_are_part_of_the_values():
    order = next(o for o in describe("metric", "bleu").options if o.name == "max_order")
    assert order.values == "integer, 1 to 16"


def test_an_unknown_name_is_an_error_that_suggests():
    with pytest.raises(ConfigError, match="unknown metric 'prot'; did you mean 'port'"):
        catalogue.describe("metric", "prot")
