"""Take a sample of mutants and say how many the tests kill.

    python -m tests.mutants --number 400 --seed 1

A mutant is one small change of one file: `<` for `<=`, `+` for `-`, another number, a `not`.
Cosmic Ray makes the changes. Each mutant runs in a copy of this tree, first with the tests nearest
to its file, then with those of its room. mutants/seed-1.jsonl has a line for each result; a run
that was stopped goes on from there.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import SimpleQueue

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

from tests.support.places import ROOT

ROOMS = {
    "metrics": ["tests/metrics", "tests/contracts/test_metric_contract.py"],
    "tuner/search": ["tests/tuner/search", "tests/contracts/test_optimizer_contract.py"],
    "tuner/evaluation/significance.py": ["tests/tuner/evaluation/test_significance.py"],
}
"""What is changed, and the tests that should notice."""
WITH_ARGUMENTS = ("VariableInserter", "VariableReplacer")
"""Operators of Cosmic Ray that must be told names."""
TIMEOUT_SECONDS = 900
"""A mutant that takes longer is killed: it does not end."""


@dataclass(frozen=True, order=True)
class Mutant:
    """One change: the n-th place in a file that an operator changes."""

    path: str
    operator: str
    occurrence: int

    def code(self, root: Path) -> tuple[str, str]:
        """Return the file before and after the change."""
        before = (root / self.path).read_text(encoding="utf-8")
        after = mutate_code(before, get_operator(self.operator)(), self.occurrence)
        return before, after or before


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
    for room in ROOMS:
        found = [ROOT / room] if room.endswith(".py") else sorted((ROOT / room).rglob("*.py"))
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
    """Return mutants that change what is run, in a random order."""
    order = sorted(mutants())
    random.Random(seed).shuffle(order)
    chosen = []
    for mutant in order:
        before, after = mutant.code(ROOT)
        try:
            differs = shape(before) != shape(after)
        except SyntaxError:
            continue
        if differs:
            chosen.append(mutant)
        if len(chosen) == number:
            break
    return chosen


def stages(path):
    """Return lists of tests: the nearest first, those of the room next."""
    room = next(room for room in ROOMS if path.startswith(room))
    stem = Path(path).stem.strip("_")
    near = [
        str(test.relative_to(ROOT))
        for folder in ROOMS[room]
        for test in (ROOT / folder).rglob(f"test_{stem}*.py")
    ]
    return [near, ROOMS[room]] if near else [ROOMS[room]]


def tested(mutant, copy):
    """Return what became of a mutant, tested in a copy of the tree."""
    before, after = mutant.code(ROOT)
    target = copy / mutant.path
    kept = target.stat()
    environment = {**os.environ, "PYTHONPATH": str(copy)}
    if "kernels" in mutant.path:
        environment["NUMBA_DISABLE_JIT"] = "1"
    target.write_text(after, encoding="utf-8")
    try:
        for tests in stages(mutant.path):
            command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider",
                       "-m", "not slow", "--hypothesis-seed=0", *tests]  # fmt: skip
            try:
                done = subprocess.run(
                    command, cwd=copy, env=environment, capture_output=True, check=False,
                    timeout=TIMEOUT_SECONDS,
                )  # fmt: skip
            except subprocess.TimeoutExpired:
                return "killed", "timeout"
            if done.returncode != 0:
                return "killed", done.stdout.decode("utf-8", "replace").splitlines()[-1]
    finally:
        target.write_text(before, encoding="utf-8")
        os.utime(target, ns=(kept.st_atime_ns, kept.st_mtime_ns))  # caches of kernels stay valid
    change = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=0)
    return "survived", "\n".join(list(change)[2:])


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


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.mutants")
    parser.add_argument("--number", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--out", type=Path, default=ROOT / "mutants")
    given = parser.parse_args()
    given.out.mkdir(exist_ok=True)
    results = given.out / f"seed-{given.seed}.jsonl"
    lines = results.read_text(encoding="utf-8").splitlines() if results.exists() else []
    known = {}
    for line in lines:
        one = json.loads(line)
        known[Mutant(one["path"], one["operator"], one["occurrence"])] = one["outcome"]
    chosen = sample(given.number, given.seed)
    writing = threading.Lock()
    with tempfile.TemporaryDirectory(prefix="mutants-") as scratch:
        free = SimpleQueue()
        for n in range(given.processes):
            free.put(copied(Path(scratch) / str(n)))

        def work(mutant):
            copy = free.get()
            try:
                outcome, detail = tested(mutant, copy)
            finally:
                free.put(copy)
            with writing, results.open("a", encoding="utf-8") as file:
                known[mutant] = outcome
                line = {**asdict(mutant), "outcome": outcome, "detail": detail}
                file.write(json.dumps(line) + "\n")
                print(
                    f"{outcome:8} {mutant.path} {mutant.operator} {mutant.occurrence}", flush=True
                )
                if outcome == "survived":
                    print(detail, flush=True)

        with ThreadPoolExecutor(given.processes) as pool:
            list(pool.map(work, [mutant for mutant in chosen if mutant not in known]))
    counts = Counter(known[mutant] for mutant in chosen)
    print(f"{counts['killed']} of {len(chosen)} mutants killed, {counts['survived']} survived")


if __name__ == "__main__":
    main()
