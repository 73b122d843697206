"""Take a sample of mutants and say how many the tests kill.

    python -m tests.mutants --number 400 --seed 1

A mutant is one small change of one file: `<` for `<=`, `+` for `-`, another number, a `not`.
Cosmic Ray makes the changes. A mutant runs in a copy of this tree with the tests that run the
changed line: first those of the files of tests with its name, then the others, until one fails.
mutants/seed-1.jsonl has a line for each result; a run that was stopped goes on from there. After
tests were added, `--survivors` tries those mutants again that survived.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import difflib
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, astuple, dataclass
from pathlib import Path
from queue import SimpleQueue

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

from tests.mutants.reach import Reach, files_of_tests, is_kernel
from tests.support.places import ROOT

PACKAGES = {
    "metrics": [
        "tests/metrics",
        "tests/contracts/test_metric_contract.py",
        "tests/contracts/test_display_contract.py",
    ],
    "tuner/search": [
        "tests/tuner/search",
        "tests/contracts/test_optimizer_contract.py",
        "tests/end_to_end/test_digests.py",
    ],
    "tuner/evaluation/significance.py": ["tests/tuner/evaluation/test_significance.py"],
}
"""What is changed, and the tests that should notice."""
UNCOMPILED = {
    "metrics": ["tests/metrics", "tests/contracts/test_metric_contract.py"],
    "tuner/search": [
        "tests/tuner/search/test_kernels.py",
        "tests/tuner/search/test_line_search.py",
        "tests/tuner/search/optimizers/test_gradients.py",
    ],
}
"""The same for kernels, which are tested uncompiled."""
WITH_ARGUMENTS = ("VariableInserter", "VariableReplacer")
"""Operators of Cosmic Ray that must be told names."""
PORTION = 5.0
"""Tests run in portions of so many seconds; most mutants need one."""


@dataclass(frozen=True, order=True)
class Mutant:
    """One change: the n-th place in a file that an operator changes."""

    path: str
    operator: str
    occurrence: int

    def code(self) -> tuple[str, str]:
        """Return the file before and after the change."""
        before = (ROOT / self.path).read_text(encoding="utf-8")
        try:
            after = mutate_code(before, get_operator(self.operator)(), self.occurrence)
        except AttributeError:  # Cosmic Ray fails on `except module.Error`
            after = None
        return before, after or before

    def change(self) -> list[str]:
        """Return the lines of a difference that tell the change; the first names the line."""
        before, after = (code.splitlines() for code in self.code())
        return list(difflib.unified_diff(before, after, lineterm="", n=0))[2:]


class WithoutTypes(ast.NodeTransformer):
    """Removes the types of arguments and results, which are not evaluated."""

    def visit_arg(self, node):
        node.annotation = None
        return node

    def visit_FunctionDef(self, node):
        node.returns = None
        return self.generic_visit(node)


def shape(code):
    return ast.dump(WithoutTypes().visit(ast.parse(code)))


def files():
    for package in PACKAGES:
        found = (
            [ROOT / package] if package.endswith(".py") else sorted((ROOT / package).rglob("*.py"))
        )
        yield from (str(path.relative_to(ROOT)) for path in found)


def mutants():
    operators = [
        name for name in operator_names() if not name.split("/")[1].startswith(WITH_ARGUMENTS)
    ]
    for path in files():
        nodes = list(ast_nodes(get_ast((ROOT / path).read_text(encoding="utf-8"))))
        for name in sorted(operators):
            operator = get_operator(name)()
            places = sum(1 for node in nodes for _ in operator.mutation_positions(node))
            yield from (Mutant(path, name, n) for n in range(places))


def sample(number, seed):
    """Return mutants that change what is run, in the order of their digests.

    A change of one file leaves those of the other files in the sample, or nearly all of them.
    """

    def digest(mutant):
        return hashlib.sha256(f"{seed} {astuple(mutant)}".encode()).digest()

    chosen = []
    for mutant in sorted(mutants(), key=digest):
        if is_kernel(mutant.path) and mutant.operator.endswith("RemoveDecorator"):
            continue  # uncompiled, they change nothing
        before, after = mutant.code()
        try:
            differs = shape(before) != shape(after)
        except SyntaxError:
            continue
        if differs:
            chosen.append(mutant)
        if len(chosen) == number:
            break
    return chosen


class Server:
    """A process that runs the tests of one tree; see tests/mutants/server.py."""

    def __init__(self, tree):
        self.tree = tree
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.mutants.server"], cwd=tree, text=True,
            # Its children end without cleaning up; the folder around the tree is removed.
            env={**os.environ, "PYTHONPATH": str(tree), "TMPDIR": str(tree.parent)},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def run(self, tests, *, compiled, limit, lines=False):
        """Run tests until one fails, or all of them and note the lines."""
        job = {"tests": tests, "compiled": compiled, "limit": limit, "lines": lines}
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def close(self):
        self._process.stdin.close()
        self._process.wait()


def tested(mutant, server, reach):
    """Return what became of a mutant in the tree of a server."""
    before, after = mutant.code()
    target = server.tree / mutant.path
    kept = target.stat()
    detail = "no test runs the line"
    for tests in portions(mutant, server, reach):
        target.write_text(after, encoding="utf-8")
        try:
            limit = 20 + 10 * int(sum(tests.values()))
            done = server.run([*tests], compiled=not is_kernel(mutant.path), limit=limit)
        finally:
            target.write_text(before, encoding="utf-8")
            os.utime(target, ns=(kept.st_atime_ns, kept.st_mtime_ns))  # kernels stay valid
        if done["status"] != 0:
            return "killed", done["failed"] or "a file of tests cannot be read"
        detail = "all tests of the line pass"
    return "survived", detail


def portions(mutant, server, reach):
    """Yield the tests that run the line of a mutant, the nearest first."""
    package = next(package for package in PACKAGES if mutant.path.startswith(package))
    everything = list(
        files_of_tests((UNCOMPILED if is_kernel(mutant.path) else PACKAGES)[package])
    )
    line = int(mutant.change()[0].split()[1].split(",")[0][1:])
    name = f"test_{Path(mutant.path).stem.strip('_')}"
    near = [file for file in everything if Path(file).stem.startswith(name)]
    for files in (near, [file for file in everything if file not in near]):
        found = reach.of(mutant.path, line, files, server)
        portion, total = {}, 0.0
        for test in sorted(found, key=found.get):
            portion[test] = found[test]
            total += found[test]
            if total > PORTION:
                yield portion
                portion, total = {}, 0.0
        if portion:
            yield portion


def copied(folder):
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True
    )
    for name in filter(None, listed.stdout.split("\0")):
        source, target = ROOT / name, folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target, follow_symlinks=False)
    for cache in [*ROOT.glob("metrics/**/__pycache__"), *ROOT.glob("tuner/**/__pycache__")]:
        shutil.copytree(cache, folder / cache.relative_to(ROOT), dirs_exist_ok=True)
    return folder


def read(results, *, survivors):
    """Return the outcome of each mutant that is known already."""
    known = {}
    lines = results.read_text(encoding="utf-8").splitlines() if results.exists() else []
    for line in lines:
        one = json.loads(line)
        mutant = Mutant(one["path"], one["operator"], one["occurrence"])
        if mutant.change() == one["change"]:  # else the file is another one now
            known[mutant] = one["outcome"]
    if survivors:
        return {mutant: outcome for mutant, outcome in known.items() if outcome == "killed"}
    return known


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.mutants")
    parser.add_argument("--number", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--out", type=Path, default=ROOT / "mutants")
    parser.add_argument("--survivors", action="store_true")
    given = parser.parse_args()
    given.out.mkdir(exist_ok=True)
    results = given.out / f"seed-{given.seed}.jsonl"
    known = read(results, survivors=given.survivors)
    chosen = sample(given.number, given.seed)
    writing = threading.Lock()
    with (
        tempfile.TemporaryDirectory(prefix="mutants-") as scratch,
        contextlib.ExitStack() as open_,
    ):
        free = SimpleQueue()
        for n in range(given.processes):
            server = Server(copied(Path(scratch) / str(n)))
            open_.callback(server.close)
            free.put(server)
        reach = Reach(given.out / "reach")

        def work(mutant):
            server = free.get()
            try:
                outcome, detail = tested(mutant, server, reach)
            finally:
                free.put(server)
            line = {
                **asdict(mutant), "change": mutant.change(), "outcome": outcome, "detail": detail
            }  # fmt: skip
            with writing, results.open("a", encoding="utf-8") as file:
                known[mutant] = outcome
                file.write(json.dumps(line) + "\n")
                print(f"{outcome:8} {mutant.path} {mutant.operator} {detail}", flush=True)
                if outcome == "survived":
                    print("\n".join(line["change"]), flush=True)

        with ThreadPoolExecutor(given.processes) as pool:
            list(pool.map(work, [mutant for mutant in chosen if mutant not in known]))
    counts = Counter(known[mutant] for mutant in chosen)
    print(f"{counts['killed']} of {len(chosen)} mutants killed, {counts['survived']} survived")


if __name__ == "__main__":
    main()
