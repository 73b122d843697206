"""Signals that end this program, as exceptions: the programs that it runs end too."""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from .errors import Interrupted

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals of the keyboard, `kill`, `timeout`, a batch system, and a terminal that is closed."""

SOON = 0.01
"""Seconds after which a signal that was lost is sent again."""


@contextmanager
def signals_as_interrupts() -> Iterator[None]:
    """Turn signals that end the program into exceptions, so that decoders and trainers end too.

    A signal that is ignored (`nohup`) stays so. The same signal again ends the program at once,
    but not that of the keyboard.
    """

    def interrupt(number: int, _: FrameType | None) -> None:
        if number != signal.SIGINT:
            signal.signal(number, signal.SIG_DFL)
        raise Interrupted(signal.Signals(number))

    def send_again(lost: Any) -> None:
        """Python drops what is raised in a callback of C code: of an import, of the compiler."""
        if not isinstance(lost.exc_value, Interrupted):
            hook(lost)
            return
        number = lost.exc_value.number
        signal.signal(number, interrupt)
        threading.Thread(target=_send_outside, args=(send_again, number), daemon=True).start()

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    usual = {number: signal.getsignal(number) for number in ENDING}
    defaults = (signal.SIG_DFL, signal.default_int_handler)
    ours = {number: handler for number, handler in usual.items() if handler in defaults}
    hook, sys.unraisablehook = sys.unraisablehook, send_again
    for number in ours:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number, handler in ours.items():
            signal.signal(number, handler)
        sys.unraisablehook = hook


def _send_outside(hook: Callable[[Any], None], number: int) -> None:
    """Send a signal again when the main thread has left this hook: in it, it would be lost too."""
    main = threading.main_thread().ident
    is_inside = True
    while is_inside:
        time.sleep(SOON)
        frame = sys._current_frames().get(main or 0)  # noqa: SLF001  a public function of CPython
        while frame is not None and frame.f_code is not hook.__code__:
            frame = frame.f_back
        is_inside = frame is not None
    os.kill(os.getpid(), number)


def status_after(error: BaseException, name: str) -> int:
    """Say what interrupted a program of this name; return its exit status, as shells have it.

    If threads are still at work, the process ends here: Python would wait for them, for minutes.
    """
    number = error.number if isinstance(error, Interrupted) else signal.SIGINT
    message = "interrupted" if number == signal.SIGINT else f"ended by {number.name}"
    sys.stderr.write(f"{name}: {message}\n")
    status = 128 + number
    threads = set(threading.enumerate()) - {threading.main_thread()}
    if not all(thread.daemon for thread in threads):
        from .programs import end_all  # noqa: PLC0415  start-up time

        end_all()
        os._exit(status)
    return status
