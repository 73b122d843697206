"""Warnings are shown once, and collected for results."""

import logging
from dataclasses import dataclass

from portmert.tuner.base.arguments import checked
from portmert.tuner.base.warn import (
    collected_warnings,
    shown_messages,
    warn,
    warn_of_machine,
    warnings_so_far,
    with_warnings,
)


class Shown(logging.Handler):
    """Appends messages to a list."""

    def __init__(self, lines):
        super().__init__()
        self.lines = lines

    def emit(self, record):
        self.lines.append(record.getMessage())


def test_a_warning_is_shown_once_while_warnings_are_collected():
    shown = []
    with shown_messages(Shown(shown)):
        warn("a")
        with collected_warnings() as inner:
            warn("b")
            warn("a")
            warn("b")
        warn("b")
        assert warnings_so_far() == ("a", "b")
    assert shown == ["a", "b"]
    assert list(inner) == ["b", "a"]
    warn("c")
    assert shown == ["a", "b"]


def test_results_do_not_tell_what_concerns_this_machine_alone():
    shown = []
    with shown_messages(Shown(shown)):
        warn_of_machine("disk full")
        assert with_warnings({"score": 1}) == {"score": 1}
        warn("odd text")
        assert with_warnings({"score": 1}) == {"score": 1, "warnings": ["odd text"]}
        assert with_warnings({"warnings": ["x"]}) == {"warnings": ["x", "odd text"]}
    assert shown == ["disk full", "odd text"]


def test_a_public_function_collects_its_own_warnings():
    @dataclass
    class Result:
        warnings: tuple[str, ...]

    @checked
    def operation(line: str) -> Result:
        warn(line)
        return Result(warnings_so_far())

    assert operation("a").warnings == ("a",)
    assert operation("b").warnings == ("b",)


def test_without_handlers_of_ours_a_warning_is_a_warning_of_the_log(caplog):
    with caplog.at_level(logging.WARNING, "portmert"):
        warn("a")
    assert [(record.levelname, record.message) for record in caplog.records] == [("WARNING", "a")]
