"""Options made from public functions: signature and docstring give type, default and help.

The text of a module is read and parsed; nothing is imported, so that `--help` answers at once. The
parameters of a function or the fields of a class become options:

- the annotation gives the type, see `KINDS`; a sequence is an option that may be repeated,
- the default is that of the signature,
- the numpydoc section Parameters gives the help; what stands there behind `name :` is the form of
  the value on the command line, as `NAME=FILE`. Names of parameters in backquotes become options.
  What begins with `in Python` is left out.
"""

import ast
import functools
import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from ..search import DEFAULT_OPTIMIZER
from ._kinds import FILE, FOLDER, LIST, FiniteRange, Name, Whole

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

KINDS: dict[str, Any] = {
    "Natural": Whole(0),
    "Positive": Whole(1),
    "NonNegative": FiniteRange(0),
    "Share": FiniteRange(0, 1),
    "PositiveShare": FiniteRange(0, 1, min_open=True),
    "Level": FiniteRange(0, 1, min_open=True, max_open=True),
    "ListsLike": LIST,
    "PathLike": FILE,
    "TextLike": FILE,
    "WeightsLike": FILE,
    "Path": FILE,
    "Files": click.STRING,
    "Name": Name(),
    "str": click.STRING,
    "OptimizerLike": click.STRING,
    "float": FiniteRange(),
}
"""Type of click by the first of these words that is in an annotation."""
FORMS = {"FILE": FILE, "DIR": FOLDER, "FILE|DIR": LIST, "TEXT": click.STRING}
"""Type of click by the form of a value."""
NAMES = {
    "format": "--nbest-format", "refs": "--ref", "references": "--ref",
    "features": "--feature", "fixed": "--fix", "bounds": "--bound", "signs": "--sign",
    "tied": "--tie", "level": "--confidence", "layers": "--layer", "paths": "--nbest",
}  # fmt: skip
"""Parameter -> option that is not `--name`: an option that may be repeated is singular."""
CONSTANTS = {"DEFAULT_OPTIMIZER": DEFAULT_OPTIMIZER}
"""Defaults that are constants in the signatures."""


@dataclass(frozen=True)
class Parameter:
    """A parameter of a function, or a field of a class.

    Parameters
    ----------
    annotation
        As it is written.
    default
        None if the function itself chooses; `...` if the parameter must be given.
    form
        The form of the value on the command line.
    text
        The explanation.
    """

    name: str
    annotation: str
    default: Any
    form: str
    text: str

    @property
    def is_repeated(self) -> bool:
        """Whether the option may be given several times."""
        sequence = re.search(r"Sequence\[|tuple\[|Mapping\[|ListsLike", self.annotation)
        return bool(sequence) and not self.form.endswith(",...")

    @property
    def kind(self) -> Any:
        """The type of click."""
        if self.annotation.startswith("Literal["):
            return click.Choice(ast.literal_eval(self.annotation.removeprefix("Literal")))
        if self.form in FORMS:
            return FORMS[self.form]
        words = set(re.findall(r"\w+", self.annotation))
        return next((kind for name, kind in KINDS.items() if name in words), click.STRING)

    def option(self, name: str, kept_as: str, **changes: Any) -> Decorator:
        """Return the option; `changes` are arguments of `click.option` that replace its own."""
        text = _IN_PYTHON.sub("", self.text)
        settings: dict[str, Any] = {"help": text, "metavar": self.form or None}
        if self.annotation == "bool":
            settings["is_flag"] = True
        else:
            settings |= {"type": self.kind, "multiple": self.is_repeated}
            settings["required"] = self.default is ...
            if self.default not in (..., None, ()):
                default = [self.default] if self.is_repeated else self.default
                settings |= {"default": default, "show_default": default != ""}
        settings |= changes
        if settings.get("required"):
            settings.pop("default", None)
        if settings["metavar"] in FORMS:
            settings["metavar"] = None
        if settings.get("multiple"):
            settings["help"] += " Repeat for several."
        return click.option(name, kept_as, **settings)


@functools.cache
def parameters(owner: str) -> dict[str, Parameter]:
    """Return the parameters of a public function or class, as `tuner.api.lists.Lists`.

    Raises
    ------
    LookupError, ModuleNotFoundError
        There is no such function or class.
    """
    module, node = definition(owner)
    constants = {**CONSTANTS, **_constants(module)}
    texts = dict(_explained(ast.get_docstring(node) or ""))
    by_name = {}
    for name, annotation, default in _declared(node, constants):
        form, text = texts.get(name, ("", ""))
        alias, plain = constants.get(annotation), annotation.removesuffix(" | None")
        written = alias if isinstance(alias, str) else plain
        by_name[name] = Parameter(name, written, default, form, text)
    return by_name


def definition(owner: str) -> tuple[ast.Module, ast.FunctionDef | ast.ClassDef]:
    """Return a module, and in it a function, a class, or a method `module.Class.method`."""
    parts = owner.split(".")
    depth = next((n for n in range(len(parts), 0, -1) if _path(parts[:n]).exists()), 0)
    if not depth:
        raise ModuleNotFoundError(f"No module named 'portmert.{owner}'", name=f"portmert.{owner}")
    module = ast.parse(_path(parts[:depth]).read_text("utf-8"))
    node: Any = module
    for name in parts[depth:]:
        nodes = [
            inner
            for inner in node.body
            if isinstance(inner, ast.FunctionDef | ast.ClassDef) and inner.name == name
        ]
        if not nodes:
            raise LookupError(owner)
        node = nodes[-1]  # behind overloads
    return module, node


def _path(parts: Sequence[str]) -> Path:
    return Path(__file__).parents[2].joinpath(*parts).with_suffix(".py")


def _constants(module: ast.Module) -> dict[str, Any]:
    """Return the constants at the top of a module: literals, and types `Literal[...]` as text."""
    return {
        node.targets[0].id: text
        if (text := ast.unparse(node.value)).startswith("Literal[")
        else _value(node.value, {})
        for node in module.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }


def _declared(
    node: ast.FunctionDef | ast.ClassDef, constants: Mapping[str, Any]
) -> Iterator[tuple[str, str, Any]]:
    """Yield name, annotation and default of each parameter."""
    if isinstance(node, ast.ClassDef):
        pairs = [
            (item.target.id, item.annotation, item.value)
            for item in node.body
            if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)
        ]
    else:
        positional, keywords = node.args.args, node.args.kwonlyargs
        defaults = [*([None] * (len(positional) - len(node.args.defaults))), *node.args.defaults]
        defaults += node.args.kw_defaults
        pairs = [
            (argument.arg, argument.annotation, default)
            for argument, default in zip([*positional, *keywords], defaults, strict=True)
            if argument.annotation is not None
        ]
    for name, annotation, default in pairs:
        yield name, ast.unparse(annotation), _value(default, constants)


def _value(node: ast.expr | None, constants: Mapping[str, Any]) -> Any:
    """Return the value of a default: `...` without one, None for what is no literal."""
    if node is None:
        return ...
    if isinstance(node, ast.Name):
        return constants.get(node.id)
    try:
        return ast.literal_eval(node)
    except ValueError:
        return None


_IN_PYTHON = re.compile(r"; in Python[^.;]*(?=[.;])|(?<=\. )In Python[^.]*\.( |$)")
_ENTRY = re.compile(r"^(\w[\w, ]*?)(?: : (.*))?$")


def _explained(docstring: str) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield the name, form and explanation of each parameter in a numpydoc docstring."""
    section = docstring.partition("Parameters\n----------\n")[2]
    section = re.split(r"\n\n\w+\n-+\n", section)[0]
    for entry in re.split(r"\n(?=\S)", section):
        head, _, text = entry.partition("\n")
        if match := _ENTRY.match(head):
            for name in match[1].split(", "):
                yield name, (match[2] or "", " ".join(inspect.cleandoc(text).split()))


def options(owner: str, names: str = "", *, prefix: str = "", **changes: Any) -> Decorator:
    """Add options for parameters of a public function or class.

    Parameters
    ----------
    names
        The parameters, separated by blanks, in the order of help. `name--option` gives another
        name to the option. Default: all parameters.
    prefix
        What the names of options begin with, as `test-`.
    **changes
        Parameter -> arguments of `click.option` that replace what the signature gives.
    """

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        declared = parameters(owner)
        for word in reversed(names.split() or list(declared)):
            name, dashes, option = word.partition("--")
            option = dashes + option if option else NAMES.get(name, "--" + name.replace("_", "-"))
            decorator = declared[name].option(
                f"--{prefix}{option.removeprefix('--')}",
                prefix.replace("-", "_") + name,
                **changes.get(name, {}),
            )
            command = decorator(command)
            if name == "missing":
                command = click.option(
                    "--drop-missing", "missing", flag_value="segment",
                    help="Short for --missing segment.",
                )(command)  # fmt: skip
        return command

    return add
