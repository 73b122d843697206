"""Which libraries a job of a workflow lacks: it installs some extras and no others."""

import re
import sys
import tomllib
from importlib import metadata

from packaging.requirements import Requirement

from tests.support.places import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def canonical(name):
    """Return the name of a distribution as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def installed_by(*extras):
    """Return the distributions of `portmert[extras]`, as far as they are installed here."""
    found = set()
    ahead = [Requirement(line) for line in PROJECT["dependencies"]]
    for extra in extras:
        ahead += map(Requirement, PROJECT["optional-dependencies"][extra])
    while ahead:
        wanted = ahead.pop()
        key = (canonical(wanted.name), frozenset(wanted.extras))
        if key in found:
            continue
        found.add(key)
        try:
            lines = metadata.requires(wanted.name) or ()
        except metadata.PackageNotFoundError:
            continue
        for line in map(Requirement, lines):
            chosen = [{"extra": extra} for extra in ("", *wanted.extras)]
            if line.marker is None or any(map(line.marker.evaluate, chosen)):
                ahead.append(line)
    return {name for name, _ in found}


def modules_without(*extras):
    """Return the modules at the top that an environment with these extras alone lacks."""
    there = installed_by(*extras) | {"portmert", "pip", "setuptools"}
    return sorted(
        module
        for module, owners in metadata.packages_distributions().items()
        if not any(canonical(owner) in there for owner in owners)
        and module.isidentifier()
        and module not in sys.stdlib_module_names
    )


def running(program, arguments, *extras):
    """Return code for `python -c` that runs a module as a program without the other libraries."""
    return (
        "import runpy, sys\n"
        f"sys.modules.update(dict.fromkeys({modules_without(*extras)}))\n"
        f"sys.argv = {[program, *arguments]}\n"
        f"runpy.run_module({program!r}, run_name='__main__', alter_sys=True)\n"
    )
