"""How much a reader of the code must know: vague names, long functions, repeated parameters.

    python -m tests.support.measures names [FOLDER...]     share of names that say nothing
    python -m tests.support.measures size                  lines, longest functions, parameters
    python -m tests.support.measures sums                  lines of core, extensions and tests
    python -m tests.support.measures work COMMAND...       functions that a command calls

`work` runs a command of portmert in this process, with kernels uncompiled.
"""

import ast
import os
import sys
import threading
from collections import Counter

import click

from tests.support.imports import MODULES, parsed
from tests.support.places import ROOT

_VAGUE = """
ahead again asked behind beside called chosen come data2 done found given held kept known listed
look made more named new now one ordered other others own ready rest said several shown some stand
stands stuff taken thing things tmp told wanted way what who
"""
VAGUE = frozenset(_VAGUE.split())
"""Words that say of a name what grammar it is, and not what it holds."""
AMBIENT = ("notice", "progress", "log", "threads", "team", "executor", "annotation_cache", "note")
"""Parameters that many functions hand on."""


def functions(path):
    """The functions of a file."""
    return [node for node in ast.walk(parsed(path)) if isinstance(node, ast.FunctionDef)]


def names(path):
    """Every name that a file binds: variables, arguments, functions."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.arg) and node.arg not in ("self", "cls"):
            yield node.arg
        elif isinstance(node, ast.FunctionDef):
            yield node.name


def vague_names(folder):
    """How many names the files of a folder bind, and how often each vague one."""
    bound = Counter(name for path in sorted((ROOT / folder).rglob("*.py")) for name in names(path))
    vague = {
        name: count
        for name, count in bound.items()
        if name.strip("_") in VAGUE and not name.startswith("__")
    }
    return bound.total(), Counter(vague)


def body_lines(function):
    """The lines of a function's body, without its docstring."""
    body = function.body[ast.get_docstring(function) is not None :]
    return function.end_lineno - body[0].lineno + 1 if body else 0


def longest_functions():
    """The functions outside kernels, longest first: (lines, where)."""
    rows = [
        (body_lines(function), f"{path.relative_to(ROOT)}:{function.lineno} {function.name}")
        for path in MODULES.values()
        if "kernels" not in path.as_posix()
        for function in functions(path)
    ]
    return sorted(rows, reverse=True)


def declared(parameters):
    """How often functions of the product declare each of these parameters."""
    return Counter(
        argument.arg
        for path in MODULES.values()
        for function in functions(path)
        for argument in (*function.args.args, *function.args.kwonlyargs)
        if argument.arg in parameters
    )


def calls_of(arguments):
    """The functions of the product that a second run of a command calls, as (file, name)."""
    from portmert.__main__ import main

    files = {str(path) for path in MODULES.values()}
    calls = set()

    def note(frame, event, _):
        code = frame.f_code
        path = os.path.realpath(code.co_filename)
        if event == "call" and path in files and not code.co_name.startswith("<"):
            calls.add((path, code.co_qualname))

    def run():
        sys.argv = ["portmert", *arguments]
        try:
            main()
        except SystemExit as end:
            if end.code:
                raise

    run()  # what is done once in a process is not counted
    sys.setprofile(note)
    threading.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return calls


def sums():
    """The lines of the core, of core and extensions together, and of tests."""
    extensions = (ROOT / "extensions").resolve()
    by_part = Counter()
    for part, paths in (("all", MODULES.values()), ("tests", (ROOT / "tests").rglob("*.py"))):
        for path in paths:
            lines = path.read_text(encoding="utf-8").count("\n")
            by_part[part] += lines
            by_part["core"] += lines * (part == "all" and not path.is_relative_to(extensions))
    return by_part["core"], by_part["all"], by_part["tests"]


@click.group()
def cli():
    """Measure how much a reader of the code must know."""


@cli.command("names")
@click.argument("folders", nargs=-1)
def show_names(folders):
    """Print the share of vague names in folders."""
    for folder in folders or ("tuner", "metrics", "aligners", "extensions", "tests/support"):
        total, vague = vague_names(folder)
        share = 100 * vague.total() / max(total, 1)
        click.echo(f"{folder}: {total} names, {share:.1f} % vague: {dict(vague.most_common(12))}")


@cli.command("size")
def show_size():
    """Print lines, the longest functions and repeated parameters."""
    lines = sum(path.read_text(encoding="utf-8").count("\n") for path in MODULES.values())
    click.echo(f"{lines} product lines in {len(MODULES)} files")
    for length, where in longest_functions()[:12]:
        click.echo(f"{length:4} lines: {where}")
    counts = declared(AMBIENT)
    click.echo(f"{counts.total()} declarations of {dict(counts.most_common())}")


@cli.command("sums")
def show_sums():
    """Print the three sums that `make check` shows."""
    core, product, tests = sums()
    click.echo(f"lines: core {core:,}, core and extensions {product:,}, tests {tests:,}")


@cli.command("work", context_settings={"ignore_unknown_options": True})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def show_work(arguments):
    """Print how many functions a command of portmert calls."""
    os.environ["NUMBA_DISABLE_JIT"] = "1"
    calls = calls_of(arguments)
    click.echo(f"{len(calls)} functions in {len({path for path, _ in calls})} files", err=True)


if __name__ == "__main__":
    cli()
