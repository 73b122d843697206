"""Signals that end this program are exceptions, also those that Python would drop."""

import signal
import threading
import time
import weakref

import pytest

from portmert.tuner.base import interrupts
from portmert.tuner.base.errors import Interrupted
from portmert.tuner.base.interrupts import ENDING, signals_as_interrupts


class Object:
    """Something with weak references."""


@pytest.fixture(autouse=True)
def usual():
    """Jobs in the background ignore some signals."""
    kept = {number: signal.signal(number, signal.SIG_DFL) for number in ENDING}
    yield
    for number, handler in kept.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", ENDING)
def test_a_signal_in_a_callback_is_not_lost(number):
    dying = Object()
    reference = weakref.ref(dying, lambda _: signal.raise_signal(number))
    with pytest.raises(Interrupted) as found, signals_as_interrupts():  # noqa: PT012
        del dying  # Python drops what is raised here
        time.sleep(60)
        pytest.fail("the signal was lost")
    assert found.value.number == number
    assert reference() is None
    assert signal.getsignal(number) == signal.SIG_DFL


def test_a_signal_that_is_sent_again_waits_until_the_hook_has_ended(monkeypatch):
    class Slow(threading.Thread):
        """A thread that starts long before its starter goes on, as beside busy processes."""

        def start(self):
            super().start()
            time.sleep(5 * interrupts.SOON)

    monkeypatch.setattr(threading, "Thread", Slow)
    dying = Object()
    reference = weakref.ref(dying, lambda _: signal.raise_signal(signal.SIGTERM))
    with pytest.raises(Interrupted), signals_as_interrupts():  # noqa: PT012
        del dying
        time.sleep(60)
        pytest.fail("the signal was lost")
    assert reference() is None


def test_other_faults_in_callbacks_are_told_as_usual(monkeypatch):
    told = []
    monkeypatch.setattr("sys.unraisablehook", told.append)
    dying = Object()
    reference = weakref.ref(dying, lambda _: 1 / 0)
    with signals_as_interrupts():
        del dying
    assert reference() is None
    assert [type(one.exc_value) for one in told] == [ZeroDivisionError]
