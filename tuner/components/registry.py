"""Makes metrics, optimizers and readers from texts as `bleu:max_order=4`, which are checked.

They are registered by entry points of packages, see families.py.
"""

from __future__ import annotations  # Optimizer in a type would load the search

import dataclasses
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, get_args, get_origin, get_type_hints

from portmert.aligners._base import Aligner
from portmert.metrics import _paper_names
from portmert.metrics._base import Metric

from .. import families
from ..base import errors, numbers
from ..base.options import QUOTES, exists, name_value, quoted, split, unquoted
from ..base.pipes import standing
from ..nbest.readers._base import Reader
from ..texts.annotator import Annotator

if TYPE_CHECKING:
    from ..search.optimizers._base import Optimizer


def build(family: str, name: str, options: Mapping[str, Any], *, where: str = "") -> Any:
    """Return component `name` with `options` checked against its fields.

    `where` begins the message of an error: the file and the table of the options.

    Raises
    ------
    ConfigError
        An unknown component, an unknown option, or a value of the wrong type or range.
    """
    cls = families.component(family, name)
    fields = {field.name for field in dataclasses.fields(cls)}
    prefix = f"{where}: " if where else ""
    for key in options:
        if key not in fields:
            near = errors.suggest(key, fields)
            raise errors.ConfigError(f"{prefix}{family} {name} has no option '{key}'{near}")
    if family in ("metric", "annotator"):  # they open files themselves
        hints = get_type_hints(cls)
        options = {key: _standing(value, hints[key]) for key, value in options.items()}
    with errors.faults_at(f"{prefix}{family} {name}", ValueError, errors.ConfigError):
        built = cls(**options)
        if family == "metric":
            built.load()
    for key in options:
        value = getattr(built, key)
        if isinstance(value, int | float) and not abs(value) <= numbers.MOST:
            raise errors.ConfigError(
                f"{prefix}{family} {name}: {key} is {value}, expected at most {numbers.MOST}"
            )
    return built


def _standing(value: Any, hint: Any) -> Any:
    """Return the value of an option; of stdin and pipes the files that they are copied to."""
    if Path not in (hint, *get_args(hint)):
        return value
    if isinstance(value, list | tuple):
        return [_standing(item, Path) for item in value]
    return standing(value) if isinstance(value, str | Path) else value


aligner: Callable[..., Aligner] = partial(build, "aligner")
decoder = partial(build, "decoder")


MetricLike = str | Metric | Callable[..., float]
"""A metric as public functions take it."""


def metric(text: MetricLike) -> Metric:
    """Return the metric written `name`, `name:option=value,...` or as a formula.

    Parameters
    ----------
    text
        A metric as on the command line: `bleu`, `port:alpha=0.5`, `0.6*port + 0.4*bleu`,
        `scores:FILE`, `command:PROGRAM ARGUMENTS`, `command+links:...` or `comet:MODEL`. A text
        that begins with `command:` is one command. A text that begins with `scores:` or `comet:`
        is a formula if an operator follows; put names with spaces, brackets, `*` or `+` in quotes.
        A metric object is returned unchanged. A function that takes the text of a hypothesis and
        a list of its references, and returns a number, more is better, becomes the mean of it.
        `portmert metrics` lists all names.

    Raises
    ------
    PortmertError
        There is no such metric or option, or a value is out of range.

    Examples
    --------
    >>> import portmert
    >>> portmert.metric("port:alpha=0.5").signature
    'port:alpha=0.5,order=v,...'
    >>> portmert.metric("PRT")
    Traceback (most recent call last):
        ...
    portmert.tuner.base.errors.ConfigError: unknown metric 'prt'; did you mean 'port'?
    """
    if not isinstance(text, str):
        return _of_object(text)
    if text not in families.names("metric"):
        return _parsed(text)
    built: Metric = build("metric", text, {})
    return built


def _parsed(text: str) -> Metric:
    """Return the metric written `name:option=value,...`, as a formula or by a paper's name."""
    if re.match(r"[.~]*/", text):
        raise errors.ConfigError(
            f"unknown metric '{text}'; a program is written command:{text}, a file of scores "
            f"scores:{text}"
        )
    from . import external, formula  # noqa: PLC0415  start-up time

    name, colon, argument = text.partition(":")
    name = name.lower()
    if name in external.NAMES:
        if (name == "m2" and not argument) or exists(argument) or _has_files(name, argument):
            return formula.outside_metric(name, argument)
        if not colon:
            raise errors.ConfigError(f"metric {text}: write it as {name}:{external.NAMES[name]}")
        if name.startswith("command") or not argument:
            return formula.outside_metric(name, argument)
        with errors.faults_at("metric", errors.ConfigError, errors.ConfigError):
            unquoted(argument)  # an unclosed quote is no fault of a formula
        return formula.outside(text) or formula.parse(text, metric)
    with errors.faults_at("metric", errors.ConfigError, errors.ConfigError):
        parts = split(text, ",")
    if len(parts) > 1 and {_canonical(part).partition(":")[0] for part in parts} <= {
        *families.names("metric")
    }:
        raise errors.ConfigError(
            f"metric '{text}': several names in one; repeat the option, or combine them in a "
            f"formula, as 0.5*{parts[0]} + 0.5*{parts[1]}"
        )
    if formula.is_formula(text) and not _names_a_file(text):
        return formula.parse(text, metric)
    built: Metric = build("metric", *written("metric", text))
    return built


def metric_of(signature: str) -> Metric:
    """Return the metric of a signature that a run has written.

    Raises
    ------
    InputError
        The signature is not enough: it does not contain the folders of files.
    """
    text = signature.partition("|")[0]
    try:
        built = metric(text)
    except (errors.ConfigError, errors.StateError, ValueError) as error:
        raise errors.InputError(f"{text} cannot be computed again: {error}") from None
    if built.signature != text:
        raise errors.InputError(f"{text} cannot be computed again: it is now {built.signature}")
    return built


def label(metric: Metric) -> str:
    """Return the name of a metric, with its options if they are not the default ones."""
    try:
        is_default = type(metric)() == metric
    except (TypeError, ValueError):  # an option must be given, or it is a formula
        is_default = False
    return metric.name() if is_default else metric.signature


def _of_object(value: Any) -> Metric:
    """Return a metric that is no text."""
    if isinstance(value, Metric):
        families.check_name("metric", value)
        return value
    if not callable(value):
        raise TypeError(f"a metric is a name, a formula or an object, found {value!r:.60}")
    from .external import Function  # noqa: PLC0415  start-up time

    return Function(cast("Callable[[str, list[str]], float]", value))


def labelled(metrics: MetricLike | Iterable[MetricLike]) -> dict[str, Metric]:
    """Return metrics by their names in tables: as they are written, an object by its `label`."""
    is_one = isinstance(metrics, str) or not isinstance(metrics, Iterable)
    several: Any = [metrics] if is_one else metrics
    pairs = [(text, metric(text)) for text in several]
    return {text if isinstance(text, str) else label(each): each for text, each in pairs}


def _canonical(text: str) -> str:
    """Return a metric written `name` or `name:options` with its own name, in lowercase."""
    name, _, argument = text.partition(":")
    names, options = families.names("metric"), ""
    if name not in names:
        canonical = None if name.lower() in names else _paper_names.resolved(name)
        name, _, options = (canonical or name.lower()).partition(":")
    all_options = ",".join(filter(None, (options, argument)))
    return f"{name}:{all_options}" if all_options else name


def _has_files(name: str, argument: str) -> bool:
    """Return whether a metric from outside has existing files, and options, and nothing else."""
    if name.startswith("command") or not argument:
        return False
    with errors.faults_at("metric", errors.ConfigError, errors.ConfigError):
        parts = split(argument, ",")
    options = [part for part in parts if not exists(part)]
    simple = all(re.fullmatch(r"\w+=[\w.:-]+", part) for part in options)
    return simple and len(options) < len(parts)


def _names_a_file(text: str) -> bool:
    """Return whether a text is `name:option=value,...`, with a formula's signs in paths only."""
    name, _, argument = _canonical(text).partition(":")
    if name not in families.names("metric"):
        return False
    hints = get_type_hints(families.component("metric", name))
    for key, equals, value in map(name_value, split(argument, ",", named=True)):
        is_path = Path in (hints.get(key), *get_args(hints.get(key)))
        signs = re.sub(QUOTES, "", "" if is_path and exists(value) else value)
        if not equals or re.search(r"[\s()*]" if is_path else r"[\s()*/]", signs):
            return False
    return True


def written(family: str, text: str, *, as_written: bool = False) -> tuple[str, dict[str, Any]]:
    """Return name and options of a component written `name:option=value,option=value`.

    An option of an optimizer or annotator that has several values is given once for each.

    Parameters
    ----------
    as_written
        Whether values keep their quotes.

    Raises
    ------
    ConfigError
        The options are written in another way.
    """
    name, _, argument = (_canonical(text) if family == "metric" else text).partition(":")
    if not argument:
        return name, {}
    form = f"write it as {name}:option=value,option=value"
    cls = families.component(family, name)  # an unknown one is another fault than its options
    repeatable: set[str] = set()
    if family in ("optimizer", "annotator"):
        hints = get_type_hints(cls).items()
        repeatable = {key for key, hint in hints if get_origin(hint) is tuple}
    where = f"{family} '{text}'"
    with errors.faults_at(where, errors.ConfigError, errors.ConfigError):
        items = filter(None, split(argument, ",", named=True))
    return name, key_values(
        items, where=where, form=form, repeatable=repeatable, as_written=as_written
    )


def reader(text: str) -> Reader:
    """Return the reader of n-best lists written `name` or `name:option=value,option=value`."""
    cls = families.component("reader", text.partition(":")[0])
    fields = {field.name for field in dataclasses.fields(cls)}
    name, options = written("reader", text, as_written=True)
    for key in options.keys() & fields - {*cls.joined, cls.named_files}:
        options[key] = unquoted(options[key])
    if cls.named_files:
        named_paths = [
            f"{quoted(key)}={path}"
            for key in [key for key in options if key not in fields]
            for path in split(options.pop(key), "+")
        ]
        joined = "+".join(filter(None, [options.get(cls.named_files, ""), *named_paths]))
        options |= {cls.named_files: joined} if joined else {}
    built: Reader = build("reader", name, options)
    return built


def graph_reader(text: str) -> Any:
    """Return the reader of search graphs written `name:option=value`; None for `auto`."""
    if text == "auto":
        return None
    return build("graph-reader", *written("graph-reader", text))


def annotator(text: str | Annotator, *, model: str = "") -> Annotator:
    """Return the annotator written `name` or `name:option=value,option=value`; or an object.

    A `model` is the option of that name or, if there is none, one of the `files`.

    Raises
    ------
    ConfigError
        There is no such annotator or option.
    ProgramError
        Its library, its model or a file is missing.
    """
    if not isinstance(text, str):
        built = text
    else:
        name, options = written("annotator", text)
        if model:
            hints = get_type_hints(families.component("annotator", name))
            key = "model" if "model" in hints else "files"
            if key in options:
                raise errors.ConfigError(f"annotator '{text}': {key} is given twice")
            options[key] = [model] if get_origin(hints[key]) is tuple else model
        built = build("annotator", name, options)
    with errors.faults_at(
        f"annotator {built.name()}{built.of_package()}", errors.AnnotatorError, errors.ProgramError
    ):
        built.fingerprint()  # also where no metric will ask it for anything
    return built


def key_values(
    items: Iterable[str],
    *,
    where: str,
    form: str = "",
    repeatable: Collection[str] = (),
    as_written: bool = False,
) -> dict[str, Any]:
    """Return the options written `option=value`; a list of each `repeatable` one.

    Parameters
    ----------
    where
        Begins the message of an error.
    form
        Ends the message: how to write options there.
    repeatable
        Options that may be repeated.
    as_written
        Whether values keep their quotes.

    Raises
    ------
    ConfigError
        An item is written in another way, or one is given twice.
    """
    options: dict[str, Any] = {}
    for item in items:
        with errors.faults_at(where, errors.ConfigError, errors.ConfigError):
            key, equals, value = name_value(item)
            value = value if as_written else unquoted(value)
        if not (key and equals):
            hint = f"; {form}" if form else ""
            raise errors.ConfigError(f"{where}: '{item}' is not option=value{hint}")
        if key in repeatable:
            options.setdefault(key, []).append(value)
        elif key in options:
            raise errors.ConfigError(f"{where}: option '{key}' is given twice")
        else:
            options[key] = value
    return options


def optimizer(
    text: str | Optimizer, options: Mapping[str, Any] | None = None, *, where: str = ""
) -> Optimizer:
    """Return the optimizer written `name` or `name:option=value,...`, with more `options`.

    An optimizer is returned as it is.

    Raises
    ------
    ConfigError
        As `build`; or an option is in the text and is given again.
    """
    if not isinstance(text, str):
        from_python = text
        if not isinstance(text, families.families()["optimizer"].base_class):
            raise TypeError(f"an optimizer is a name or an object, found {text!r:.60}")
        return from_python
    name, all_options = written("optimizer", text)
    for key, value in (options or {}).items():
        if key in all_options:
            raise errors.ConfigError(f"optimizer '{text}': option '{key}' is given twice")
        all_options[key] = value
    built: Optimizer = build("optimizer", name, all_options, where=where)
    return built
