"""The group of all commands."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
import tomllib
from pathlib import Path

import click
import pytest

import portmert
from portmert.tuner import commands
from portmert.tuner.cli import main
from portmert.tuner.commands import _help
from tests.support.cli import run
from tests.support.interrupts import HANGS
from tests.support.places import INVENTED, ROOT

CORE = {path.stem.replace("_", "-") for path in Path(commands.__file__).parent.glob("[!_]*.py")}
POINTS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["entry-points"]
COMMANDS = sorted(CORE | set(POINTS["portmert.commands"]))


def test_help_lists_every_command():
    lines = run("--help").stdout.splitlines()
    listed = [line.split()[0] for line in lines[lines.index("Tune:") :] if re.match(r"  \w", line)]
    assert sorted(listed) == COMMANDS
    assert {"Tune:", "Judge:", "Metrics:", "Moses:", "Set up:"} <= set(lines)
    assert not any(line.endswith("...") for line in lines[1:])


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(name):
    result = run(name, "--help")
    assert re.match(rf"Usage: \w+ {name}\b", result.stdout)


@pytest.mark.parametrize("name", COMMANDS)
def test_summaries_have_two_to_eight_words_and_no_placeholders(name):
    summary = main.first_sentence(click.Context(main), name)
    assert 2 <= len(summary.rstrip(".").split()) <= 8
    assert not re.search(r"\b[A-Z]{2}[A-Z0-9]*\b", summary.replace("PORT", ""))


@pytest.mark.parametrize("name", ["optimize", "rerank-tune", "compare", "crossval"])
def test_short_help_has_a_line_for_each_option(name):
    command = main.get_command(click.Context(main), name)
    options = [one for one in command.params if isinstance(one, click.Option) and not one.hidden]
    lines = run(name, "-h").stdout.splitlines()
    shown = [set(re.split(r",? ", line.strip())[:2]) for line in lines]
    for option in options:
        assert sum(option.opts[-1] in words for words in shown) == 1, option.opts
    assert max(map(len, lines)) <= 80
    assert len(lines) <= len(options) + 24


def test_whole_help_has_examples_and_says_where_to_read_on():
    shown = run("optimize", "--help").stdout
    examples, more = shown.split("\nExamples:\n")[1].split("\nLearn more:\n")
    assert examples.count("  portmert optimize --metric ") == 3
    assert "optimize -h" in more
    assert (ROOT / re.search(r"docs/\S+\.md", more)[0]).exists()
    assert not re.search(r"docs/\S+\.md", shown.partition("\nLearn more:")[0])
    assert "RANGE" not in shown


def test_pages_of_commands_exist():
    for name, page in _help.PAGES.items():
        assert name in COMMANDS
        assert (ROOT / f"docs/{page}.md").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--nonesuch"], "no such option '--nonesuch'"),
        (["optimize", "--nonesuch"], "no such option '--nonesuch'"),
        (["optimize", "--seed", "x"], "invalid value for '--seed'"),
        (["humaneval", "mkae"], "no such command 'mkae'"),
    ],
)
def test_wrong_usage_has_the_form_of_all_errors(words, said):
    (line,) = run(*words, status=2).stderr.splitlines()
    assert line.lower().startswith(f"portmert: error: {said}")
    assert re.search(r"\(portmert( \w+)? -h lists the options\)$", line)


def options(command, context):
    """All options of a command and of those below it."""
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            yield from options(command.get_command(context, name), context)
    yield from (one for one in command.params if isinstance(one, click.Option))


def test_no_option_takes_a_number_that_is_not_finite():
    context = click.Context(main)
    numbers = [
        one.type for one in options(main, context)
        if isinstance(one.type, click.types.FloatParamType)
    ]  # fmt: skip
    assert numbers
    for kind in numbers:
        for text in ("nan", "inf", "-inf"):
            with pytest.raises(click.BadParameter):
                kind.convert(text, None, context)


def test_version():
    assert run("--version").stdout == f"portmert, version {portmert.__version__}\n"


def test_an_unknown_command_is_wrong_usage_and_the_nearest_is_named():
    result = run("optimise", status=2)
    assert "no command 'optimise'; did you mean 'optimize'?" in result.stderr


@pytest.mark.parametrize("searching", [False, True])
def test_an_interrupt_is_one_line_and_its_status(monkeypatch, searching):
    def interrupted():
        raise KeyboardInterrupt

    left = []

    def leave(status):
        left.append(status)
        raise SystemExit(status)

    monkeypatch.setattr(
        "portmert.tuner.commands.metrics.command", click.Command("x", callback=interrupted)
    )
    monkeypatch.setattr("os._exit", leave)
    threads = [threading.main_thread(), threading.Thread(daemon=True)]
    threads += [threading.Thread(daemon=False)] * searching
    monkeypatch.setattr("threading.enumerate", lambda: threads)
    assert run("metrics", status=130).stderr == "portmert: interrupted\n"
    assert left == [130] * searching  # Python would wait for the search


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("at", ["its weights", "its translations"])
def test_who_is_told_to_end_takes_its_decoder_along(tmp_path, number, at):
    decoder, started = tmp_path / "decoder", tmp_path / "started"
    # It is there once it has said its number; `exec` keeps the number.
    real = INVENTED / "recorded" / "recorded_moses"
    shows = (
        "" if at == "its weights" else f'case "$*" in *-show-weights*) exec {real} "$@";; esac\n'
    )
    decoder.write_text(f"#!/bin/sh\n{shows}echo $$ >{started}.part; mv {started}.part {started}\n"
                       "exec sleep 600\n")  # fmt: skip
    decoder.chmod(0o755)
    command = [sys.executable, "-m", "portmert", "tune", INVENTED / "moses.toml"]
    overrides = [f"decoder.program={decoder}", f"tune.output={tmp_path / 'run'}"]
    before = signal.signal(number, signal.SIG_DFL)  # `nohup make test` ignores SIGHUP
    try:
        run = subprocess.Popen(
            [*command, *(f"--set={override}" for override in overrides)],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd=ROOT,
        )  # fmt: skip
    finally:
        signal.signal(number, before)
    wait_for(lambda: started.exists() or run.poll() is not None)
    run.send_signal(number)
    said = run.communicate(timeout=HANGS)[1]
    assert (run.returncode, said.splitlines()[-1]) == (
        128 + number,
        f"portmert: ended by {number.name}",
    )
    assert "Traceback" not in said
    with pytest.raises(ProcessLookupError):
        os.kill(int(started.read_text()), 0)


def wait_for(condition):
    end = time.monotonic() + HANGS
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_signal_that_is_ignored_stays_so(monkeypatch):
    # As `nohup` leaves it; and who calls a command from Python keeps handlers of their own.
    seen = []

    def look():
        seen.extend(signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP))

    monkeypatch.setattr(
        "portmert.tuner.commands.metrics.command", click.Command("x", callback=look)
    )
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        run("metrics")
    finally:
        signal.signal(signal.SIGHUP, before)
    assert callable(seen[0])
    assert seen[1] is signal.SIG_IGN
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="system: /dev/full")
def test_a_full_disk_behind_the_output_is_one_line():
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "portmert", "metrics"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == (
        "portmert: error: standard output or a temporary file: cannot write: No space left on "
        "device\n"
    )


def test_other_faults_of_the_system_are_not_hidden(monkeypatch):
    def missing():
        raise FileNotFoundError(2, "No such file", "ours")

    monkeypatch.setattr(
        "portmert.tuner.commands.metrics.command", click.Command("x", callback=missing)
    )
    with pytest.raises(FileNotFoundError, match="No such file: 'ours'"):
        run("metrics")
