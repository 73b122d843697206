"""Which test runs which line, and how long it takes: collected once for each file of tests."""

import ast
import hashlib
import json
import subprocess
import threading
from collections import defaultdict
from pathlib import Path

from tests.support.places import ROOT

LIMIT = 900
"""Seconds of one file of tests; if it takes longer, its tests are left out."""


def is_kernel(path):
    """Tell whether a file has compiled functions, which are tested uncompiled.

    What compiles them is not run then.
    """
    return "kernels" in path and not path.endswith("/compiled.py")


class Reach:
    """The tests of packages, by the lines that they run.

    Parameters
    ----------
    folder
        Keeps what is found, under a name that changes with the tests and the program.
    """

    def __init__(self, folder):
        self._folder, self._lock, self._found = folder, threading.Lock(), {}
        listed = subprocess.run(
            ["git", "ls-files", "-z", "metrics", "tuner", "aligners", "extensions",
             "tests/support", "tests/oracles"],
            cwd=ROOT, capture_output=True, check=True, text=True,
        ).stdout.split("\0")  # fmt: skip
        self._program = hashlib.sha256(
            b"".join((ROOT / name).read_bytes() for name in filter(None, listed))
        ).hexdigest()

    def _tests(self, file, compiled, server):
        """Return of a file of tests: the seconds of each test, and the tests of each line."""
        of = f"{self._program} {file} {compiled} ".encode() + (ROOT / file).read_bytes()
        kept = self._folder / f"{hashlib.sha256(of).hexdigest()}.json"
        with self._lock:
            if kept not in self._found:
                if not kept.exists():
                    found = server.run([file], compiled=compiled, lines=True, limit=LIMIT)
                    if found["status"] > 0:
                        raise SystemExit(f"{file}: {found['failed'] or 'cannot be run'}")
                    self._folder.mkdir(exist_ok=True)
                    kept.write_text(json.dumps(found), encoding="utf-8")
                self._found[kept] = json.loads(kept.read_text(encoding="utf-8"))
            return self._found[kept]

    def of(self, path, line, tests, server):
        """Return the tests, of some files, that run a line, and the seconds of each.

        The server has the tree as it is.

        If none does, because the line is run when the module is imported, they are those of the
        function, class or file that has it.
        """
        compiled = not is_kernel(path)
        by_line, seconds = defaultdict(set), {}
        for file in tests:
            found = self._tests(file, compiled, server)
            seconds |= found.get("seconds", {})
            for number, names in found.get("lines", {}).get(path, {}).items():
                by_line[int(number)] |= found["seconds"].keys() & names
        for begin, end in _around(path, line):
            chosen = set().union(*(by_line[number] for number in range(begin, end + 1)))
            if chosen:
                return {name: seconds[name] for name in chosen}
        return {}


def _around(path, line):
    """Yield the first and last lines of what a line is in, the smallest first.

    A line outside of the bodies of functions runs when its module is imported, by whichever test
    comes first: the tests of its function, class or file count instead.
    """
    code = (ROOT / path).read_text(encoding="utf-8")
    found, is_inside = [(1, code.count("\n"))], False
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.stmt) and node.lineno <= line <= node.end_lineno:
            is_definition = isinstance(node, ast.FunctionDef | ast.ClassDef)
            found.append((node.lineno, node.end_lineno, is_definition))
            is_inside |= isinstance(node, ast.FunctionDef) and line >= node.body[0].lineno
    chosen = {one[:2] for one in found if is_inside or len(one) == 2 or one[2]}
    yield from sorted(chosen, key=lambda one: one[1] - one[0])


def files_of_tests(places):
    """Return the files of tests in folders."""
    for place in places:
        where = ROOT / place
        found = [where] if where.is_file() else sorted(where.rglob("test_*.py"))
        yield from (str(path.relative_to(ROOT)) for path in map(Path, found))
