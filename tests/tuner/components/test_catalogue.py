from dataclasses import dataclass, field
from typing import Annotated, Literal

import pytest
from annotated_types import Ge, Gt, Le, Lt

from portmert.tuner import families
from portmert.tuner.base.errors import ConfigError
from portmert.tuner.components import catalogue, registry
from portmert.tuner.components.catalogue import describe


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
    both
        More.

    References
    ----------
    Somebody, "Something",
    somewhere.
    """

    low: Annotated[float, Ge(0)]
    choice: Literal["a", "b"] = "a"
    high: Annotated[float, Gt(0), Lt(2)] | None = None
    many: list[str] = field(default_factory=list)
    both: tuple[Annotated[int, Ge(1), Le(9)], ...] = (1, 2)


def test_options_come_from_fields_and_docstring(monkeypatch):
    monkeypatch.setattr(families, "component", lambda family, name: Example)  # noqa: ARG005
    found = describe("aligner", "example")
    assert found["summary"] == "Does something\nover two lines."
    assert found["description"] == "More about it."
    assert [tuple(option.values()) for option in found["options"]] == [
        ("low", "number, at least 0", None, "Limits."),
        ("choice", "a | b", "a", "One of these:\n`a`: the first, and best.\n`b`: the second."),
        ("high", "number, above 0, below 2", "unset", "Limits."),
        ("many", "list of text", "none", "Others."),
        ("both", "list of integer, 1 to 9", "1, 2", "More."),
    ]
    assert list(found["options"][0]) == ["name", "values", "default", "meaning"]
    assert found["needs"] == ["low"]
    assert found["source"] == 'Somebody, "Something", somewhere.'


def test_bounds_are_part_of_the_values():
    order = next(o for o in describe("metric", "bleu")["options"] if o["name"] == "max_order")
    assert order["values"] == "integer, 1 to 16"


def test_an_unknown_name_is_an_error_that_suggests():
    with pytest.raises(ConfigError, match="unknown metric 'prot'; did you mean 'port'"):
        catalogue.describe("metric", "prot")


@pytest.mark.parametrize(
    ("family", "text"),
    [
        ("metric", "port:alp'a=0.5"),
        ("metric", "po'rt"),
        ("metric", "scores:fi'le"),
        ("metric", "m2:fi'le"),
        ("metric", "0.5*bleu:max_order='4 + 0.5*port"),
        ("optimizer", "mert:se'ed=1"),
        ("reader", "jsonl:i'd=x"),
        ("annotator", "stanza:lang'uage=en"),
    ],
)
def test_an_unclosed_quote_is_told_with_its_family(family, text):
    with pytest.raises(ConfigError, match=rf"^({family}|formula).* is not closed"):
        getattr(registry, family)(text)
