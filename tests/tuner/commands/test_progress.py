"""What a terminal shows while a search runs, and what it does not."""

import re
import time
from types import SimpleNamespace

import pytest

from portmert.tuner.base.context import current
from portmert.tuner.commands import _outputs
from portmert.tuner.commands._outputs import VOICE
from portmert.tuner.search.optimizers.mert import Mert
from tests.support.cli import run
from tests.support.interrupts import HANGS
from tests.support.places import INVENTED

DATA = INVENTED / "recorded"
SEARCH = Mert.search


@pytest.fixture(autouse=True)
def _voice():
    VOICE.reset()
    yield
    VOICE.reset()


def on_terminal(monkeypatch, *, is_one=True):
    stderr = SimpleNamespace(isatty=lambda: is_one)
    monkeypatch.setattr(_outputs, "sys", SimpleNamespace(stderr=stderr))


def optimize(monkeypatch, tmp_path, *options, shows=True):
    """Optimize with two restarts; each search waits until the terminal has shown two lines."""
    monkeypatch.setattr(_outputs, "SLOW_SECONDS", 0.0)
    monkeypatch.setattr(_outputs, "TICK_SECONDS", 0.02)
    stand, shown = VOICE.show_status, []

    def stood(line):
        shown.append(line)
        stand(line)

    def slow(self, *given):
        seen, end = len(shown), time.monotonic() + HANGS
        while shows and len(shown) < seen + 2 and time.monotonic() < end:
            time.sleep(0.01)
        return SEARCH(self, *given)

    monkeypatch.setattr(VOICE, "show_status", stood)

    monkeypatch.setattr(Mert, "search", slow)
    return run("optimize", "--nbest", DATA / "1.nbest.gz", "--ref", DATA / "dev.tgt", "--metric",
               "bleu", "--optimizer", "mert:searches_per_feature=2,restarts=2", "--threads", 1,
               "--out",
               tmp_path / "w.json", *options)  # fmt: skip


def test_a_terminal_shows_how_long_a_search_has_been_on(monkeypatch, tmp_path):
    on_terminal(monkeypatch)
    shown = optimize(monkeypatch, tmp_path)
    assert re.search(r"searching: \d+ s, 0 of 2 restarts done\r", shown.stderr)
    assert re.search(r"searching: \d+ s, 1 of 2 restarts done\r", shown.stderr)
    assert "searching" not in shown.stdout
    assert shown.stderr.endswith(" \r")  # nothing of it stays


def test_bootstrap_samples_are_counted_after_restarts(monkeypatch, tmp_path):
    on_terminal(monkeypatch)
    shown = optimize(monkeypatch, tmp_path, "--bootstrap", 3)
    assert re.search(r"searching: \d+ s, 1 of 2 restarts done\r", shown.stderr)
    assert " s, 2 of 3 bootstrap samples done\r" in shown.stderr


def test_nothing_is_shown_where_nobody_looks(monkeypatch, tmp_path):
    on_terminal(monkeypatch)
    quiet = optimize(monkeypatch, tmp_path, "--quiet", shows=False).stderr
    assert quiet.startswith("portmert: warning: 40 segments to tune on")
    assert quiet.count("\n") == 1
    on_terminal(monkeypatch, is_one=False)
    assert "searching" not in optimize(monkeypatch, tmp_path, shows=False).stderr
    assert (
        "s] searching: 1 of 2\n"
        in optimize(monkeypatch, tmp_path, "--verbose", shows=False).stderr
    )


def test_a_short_search_shows_nothing(monkeypatch, capsys):
    on_terminal(monkeypatch)
    monkeypatch.setattr(_outputs, "SLOW_SECONDS", 600)
    monkeypatch.setattr(_outputs, "TICK_SECONDS", 0.01)
    with _outputs.shown_progress():
        current().progress("searching", 0, 1)
        time.sleep(0.1)
    assert capsys.readouterr().err == ""


def test_a_note_takes_the_place_of_what_stands_there(capsys):
    VOICE.show_status("searching: 3 s")
    VOICE.say("a note")
    VOICE.show_status("")
    assert capsys.readouterr().err == "searching: 3 s\r              \ra note\n"
