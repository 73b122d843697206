"""The output of commands: results on stdout (text, JSON, LaTeX), notes and progress on stderr."""

from __future__ import annotations

import logging
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import portmert

from ..base.context import Progress, using
from ..base.errors import PortmertError
from ..base.files import check_writable, write_text
from ..base.json_toml import to_json
from ..base.messages import OPTIONS, in_words_of_the_caller
from ..base.warn import left_out_so_far, notice, with_warnings
from ..families import provided
from ._help import COMMAND_LINE
from ._kinds import FILE, OUT_FILE
from ._options_of_functions import Decorator

if TYPE_CHECKING:
    from click import Context, Parameter


json_option = click.option(
    "--json",
    "json_out",
    type=OUT_FILE,
    is_flag=False,
    flag_value=Path("-"),
    metavar="[FILE]",
    help="Write all results as JSON to FILE, or to stdout if FILE is missing or -.",
)


latex = click.option(
    "--latex",
    "latex_out",
    type=OUT_FILE,
    help="Write the tables for LaTeX (booktabs); - is stdout.",
)
latex_all = click.option(
    "--latex-all",
    is_flag=True,
    help="Write all tables to --latex. Default: one for papers, systems by metrics.",
)
html = click.option(
    "--html", "html_out", type=FILE, help="Write an HTML page, one file that needs no network."
)
plot = click.option(
    "--plot",
    "plot_out",
    type=FILE,
    help="Draw the charts of the page to FILE: .svg, .png or .pdf. Needs portmert[plots].",
)
no_timing = click.option(
    "--no-timing",
    is_flag=True,
    help="Leave out measured times, so that equal calls write equal bytes.",
)


def check_outputs(*paths: Path | None) -> None:
    """Check before the work that each file given can be written, and that they are different."""
    files = [path for path in paths if path is not None]
    if len(set(files)) < len(files):
        raise click.UsageError(f"two outputs are to be written to {files[0]}")
    for path in files:
        check_writable(path)


def check_plot(path: Path | None) -> None:
    """Check before the work that a plot can be drawn."""
    if path is not None:
        provided("portmert.drawing", "plots").form_of(path)


def print_json(json_out: Path | None, document: Any, *, indent: int = 1) -> bool:
    """Write JSON where it is asked for; return whether that was stdout.

    The document has the warnings given so far, except for one that is a list.
    """
    if isinstance(document, Mapping):
        document = with_warnings(document)
    if json_out is not None:
        write_text(json_out, to_json(document, indent=indent, ensure_ascii=False) + "\n")
    return str(json_out) == "-"


def reporting(*options: Decorator, names_files: bool = True) -> Decorator:
    """Declare the outputs of a command that returns a report, and write the report to them.

    Parameters
    ----------
    options
        `html`, `json_option`, `latex`, `plot`. Without any the report is printed as text.
    names_files
        Whether to name the files written on stderr.
    """

    def add(command: Callable[..., portmert.Report]) -> Callable[..., Any]:
        @wraps(command)
        def run(**values: Any) -> None:
            names = ("html_out", "json_out", "latex_out", "plot_out")
            html_out, json_out, latex_out, plot_out = (values.pop(name, None) for name in names)
            check_outputs(html_out, json_out, latex_out, plot_out)
            whole = values.pop("latex_all", False)
            if whole and latex_out is None:
                raise click.UsageError("--latex-all needs --latex")
            check_plot(plot_out)
            announce_compiling()
            report = command(**values)
            show(report, html_out=html_out, json_out=json_out, latex_out=latex_out, whole=whole)
            if plot_out is not None:
                report.write_plot(plot_out)
            if names_files:
                say_written(html_out, json_out, latex_out, plot_out)

        decorated: Callable[..., Any] = run
        for option in reversed(options):
            decorated = option(decorated)
        return decorated

    return add


def show(
    report: portmert.Report,
    *,
    json_out: Path | None,
    latex_out: Path | None = None,
    html_out: Path | None = None,
    whole: bool = False,
) -> None:
    """Write JSON, LaTeX and a page where they are asked for; else print the text on stdout."""
    print_json(json_out, report.as_json())
    if html_out is not None:
        write_text(html_out, report.as_html())
    if latex_out is not None:
        write_text(latex_out, report.as_latex(whole=whole))
    if "-" not in (str(json_out), str(latex_out)):
        click.echo(str(report))


def say_left_out(say: Callable[[str], None] = click.echo) -> None:
    """Say how many segments were left out, if any were."""
    if count := left_out_so_far():
        say(f"segments left out: {count}")


def say_written(*paths: Path | None) -> None:
    """Name the files written on stderr."""
    for path in paths:
        if path is not None and str(path) != "-":
            click.echo(f"written: {path}", err=True)


def show_weights(result: portmert.Optimized, out: Path | None, json_out: Path | None) -> None:
    """Write tuned weights if `out` is given, and print their scores as a text or as JSON."""
    if out is not None:
        write_text(out, result.to_json())
    if print_json(json_out, result.as_json()):
        return

    say = partial(click.echo, err=str(out) == "-")
    for line in result.summary:
        say(line)
    say_left_out(say)
    say(f"weights: {out}" if out is not None else "weights: not kept; --out FILE keeps them")
    if result.bootstrap is not None:
        say(result.bootstrap.as_text())


class Voice(logging.Handler):
    """Shows facts and warnings on stderr, and how much of them.

    Attributes
    ----------
    quiet
        Show results, warnings and faults only.
    verbose
        Show progress off a terminal too, and the time of each line.
    status
        The text on the last line of a terminal, until the next line.
    """

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.reset()

    def reset(self) -> None:
        """Start afresh for a command."""
        self.quiet = self.verbose = False
        self.status = ""
        self.begin = time.monotonic()

    def emit(self, record: logging.LogRecord) -> None:
        """Show a fact, or a warning whatever --quiet says."""
        kind = "warning" if record.levelno >= logging.WARNING else "note"
        if kind == "warning" or not self.quiet:
            self.show(f"portmert: {kind}: {record.getMessage()}")

    def say(self, line: str) -> None:
        """Show one line on stderr."""
        if not self.quiet:
            self.show(line)

    def show(self, line: str) -> None:
        """Show one line on stderr, even if quiet."""
        self.show_status("")
        since = f"[{time.monotonic() - self.begin:7.1f} s] " if self.verbose else ""
        click.echo(since + line, err=True)

    def show_status(self, line: str) -> None:
        """Replace the text on the last line of the terminal; an empty one clears it."""
        if self.status:
            click.echo("\r" + " " * len(self.status) + "\r", nl=False, err=True)
        if line:
            click.echo(line, nl=False, err=True)
        self.status = line


VOICE = Voice()


def announce_compiling() -> None:
    """Note on stderr that kernels are compiled, and at the end which and how long it took."""
    from portmert.metrics.kernels.compiled import WATCH  # noqa: PLC0415  start-up time

    def end() -> None:
        if WATCH.files:
            files = ", ".join(sorted(WATCH.files))
            notice(f"compiled kernels of {files} in {WATCH.seconds:.0f} s")
            WATCH.files.clear()

    WATCH.begun = lambda: notice(
        "compiling kernels that this command needs; they are kept (`portmert compile` compiles "
        "all ahead of time)"
    )
    click.get_current_context().call_on_close(end)


def with_volume(command: click.Command) -> click.Command:
    """Add --quiet and --verbose to a command and to all of a group's."""
    if isinstance(command, click.Group):
        for subcommand in command.commands.values():
            with_volume(subcommand)
        if not command.invoke_without_command:
            return command
    if not any(parameter.name == "quiet" for parameter in command.params):
        if command.callback is not None:
            command.callback = _with_one_stdin(command.callback)
        command.params += [
            click.Option(
                ["-q", "--quiet"],
                is_flag=True,
                expose_value=False,
                callback=_set_volume,
                help="Hide progress and facts on stderr; results, warnings and errors stay.",
            ),
            click.Option(
                ["-v", "--verbose"],
                is_flag=True,
                expose_value=False,
                callback=_set_volume,
                help="Show progress even if stderr is no terminal, with the time of each line.",
            ),
        ]
    return command


def _with_one_stdin(callback: Callable[..., Any]) -> Callable[..., Any]:
    """Refuse a command line on which two inputs are stdin: the second would be empty."""

    @wraps(callback)
    def checked(*words: Any, **values: Any) -> Any:
        context = click.get_current_context()
        reading = [
            parameter.opts[-1] if isinstance(parameter, click.Option) else str(parameter.metavar)
            for parameter in context.command.params
            for text in _texts(context.params.get(parameter.name or ""))
            if not str(parameter.name).endswith("out")
            and parameter.name not in ("bounds", "signs")
            for part in re.split("[=,@+:]", text)
            if part.partition("#")[0] in STDINS
        ]
        if len(reading) > 1:
            raise click.UsageError(
                f"{' and '.join(reading)}: both are stdin, which can be read once; write one of "
                f"them to a file"
            )
        names = (name for parameter in context.command.params for name in parameter.opts)
        OPTIONS.set(frozenset() if context.args else frozenset(names))  # mert-moses has its own
        try:
            with using(command=context.meta.get(COMMAND_LINE)), shown_progress():
                return callback(*words, **values)
        except PortmertError as error:
            in_words_of_the_caller(error)
            raise
        finally:
            OPTIONS.set(None)

    return checked


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str | Path):
        yield str(value)
    elif isinstance(value, tuple | list):
        for item in value:
            yield from _texts(item)


def _set_volume(_: Context, parameter: Parameter, value: bool) -> None:
    if value and parameter.name is not None:
        setattr(VOICE, parameter.name, True)


STDINS = ("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")
"""Names of stdin."""
SLOW_SECONDS = 2.0
"""A search that ends sooner shows nothing."""
TICK_SECONDS = 1.0
UNITS = {"searching": "restarts", "sampling": "bootstrap samples"}
"""Phases of a search. Its seconds are shown: one restart may take minutes, a bar would stand."""
FEWEST = {**dict.fromkeys(UNITS, 2), "annotating": 500, "comparing": 500}
"""Phases with fewer steps have no bar and no lines."""


@contextmanager
def shown_progress() -> Iterator[None]:
    """Show on stderr how far the phases of a command are.

    A terminal shows a bar, or the seconds of a search once `SLOW_SECONDS` have passed; it is gone
    in the end. Elsewhere --verbose shows lines, ten for each phase.
    """
    if VOICE.quiet or not (VOICE.verbose or sys.stderr.isatty()):
        yield
        return
    bars = _Bars()
    try:
        with using(progress=bars.progress if sys.stderr.isatty() else _in_lines()):
            yield
    finally:
        bars.close()


def _in_lines() -> Progress:
    """Return a progress that shows lines."""
    tenths_of: dict[str, int] = {}

    def progress(phase: str, finished: int, total: int) -> None:
        tenths = 10 * finished // max(total, 1)
        if total >= FEWEST.get(phase, 0) and tenths != tenths_of.get(phase, 0):
            VOICE.say(f"{phase}: {finished} of {total}")
        tenths_of[phase] = tenths % 10

    return progress


class _Bars:
    """Shows phases on the last line of a terminal."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._state = ""
        self._begin = 0.0
        self._ended = threading.Event()
        self._ticker = threading.Thread(target=self._tick, daemon=True)

    def progress(self, phase: str, finished: int, total: int) -> None:
        """Show how far a phase is."""
        if phase in UNITS:
            self._state = f", {finished} of {total} {UNITS[phase]} done" if total > 1 else ""
            if not self._begin:
                self._begin = time.monotonic()
                self._ticker.start()
        elif total >= FEWEST.get(phase, 0):
            if self._bar is None:
                VOICE.show_status("")
                self._bar = click.progressbar(length=total, label=phase, file=sys.stderr)
                self._bar.__enter__()
            self._bar.update(finished - self._bar.pos)
            if finished >= total:
                self._end_bar()

    def _tick(self) -> None:
        while not self._ended.wait(TICK_SECONDS):
            seconds = time.monotonic() - self._begin
            if seconds >= SLOW_SECONDS and self._bar is None:  # both would stand on one line
                VOICE.show_status(f"searching: {seconds:.0f} s{self._state}")

    def _end_bar(self) -> None:
        if self._bar is not None:
            self._bar.__exit__(None, None, None)
            self._bar = None

    def close(self) -> None:
        """Remove what is shown."""
        self._end_bar()
        self._ended.set()
        if self._begin:
            self._ticker.join()
            VOICE.show_status("")
