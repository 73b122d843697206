"""Make the pages of the reference from the program whenever the site is built."""

from __future__ import annotations

import ast
import inspect
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from griffe import Docstring, Parser
from mkdocs.structure.files import File
from pydantic import TypeAdapter

import portmert
from docs._site.schemas import RESULTS, schema
from portmert.tuner.cli import main
from portmert.tuner.components.catalogue import describe
from portmert.tuner.families import component, own_names
from portmert.tuner.runs.config import Data, Tune
from portmert.tuner.search.constraints import Constraints
from tests.support.imports import MODULES

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

FAMILIES = {
    "metric": "Metrics",
    "optimizer": "Optimizers",
    "reader": "Readers of n-best lists",
    "graph-reader": "Readers of search graphs",
    "decoder": "Decoders",
    "aligner": "Word aligners",
    "annotator": "Annotators",
}
INDEX = """# Reference

| page | contents |
|---|---|
| [Commands](commands.md) | the help of every command |
| [Configuration](configuration.md) | tables and keys of a TOML file |
| [Metrics](metrics.md) | options of every metric; [definitions](../metrics/index.md) |
| [Readers](readers.md), [of graphs](graph-readers.md) | formats and their options |
| [Optimizers](optimizers.md), [decoders](decoders.md) | options of each |
| [Aligners](aligners.md), [annotators](annotators.md) | options of each |
| [Python](python.md) | every public function and class, by task |
| [JSON](json.md) | schemas of what `--json` writes |
| [Warnings](../how-to/warnings.md) | what each means, and what to do |
| [Design](../explanation/design.md), [architecture](architecture.md) | layers, extensions |
"""
PYTHON = {
    "Read": (
        "Lists, texts and settings from files, records and arrays.",
        "Lists ReadOptions NBest Hypothesis load_config",
    ),
    "Tune": (
        "Weights for lists and for decoders.",
        (
            "optimize SearchOptions Search Optimized replicate Replicas rerank_tune RerankTuned "
            "tune TuneSettings TunedDecoder Result average WeightAverage FeatureWeights "
            "Constraints Bounds"
        ),
    ),
    "Use": (
        "Choose hypotheses with weights; links and analyses of texts.",
        "rerank Mbr Reranked Reranker align check_links format_links annotate Annotated",
    ),
    "Judge": (
        "Score outputs, test differences, ask people.",
        (
            "score Score compare TestSet Resampling Report crossval metaeval JudgedSet "
            "Questions train_metric TrainedMetric make_sheets Filters read_sheets reproduce"
        ),
    ),
    "Extend": (
        "Base classes of components, and the arrays that they work on.",
        (
            "Metric metric Need Batch Texts Vocabulary LearnedFeatures Optimizer TuningProblem "
            "SearchResult Reader ListFile Aligner Annotator Annotation Decoder Decoding "
            "PortmertError"
        ),
    ),
}
"""Tasks of Python users, each a page: its sentence, and the names of `portmert` in their order."""
WIDTH = 96
"""Columns of the help texts."""

_FORMULAS = re.compile(r"\| \[[^\]]*\]\((\S+\.md)\) \| (.*) \|")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages."""
    for name, text in pages(Path(config.docs_dir)).items():
        files.append(File.generated(config, f"reference/{name}.md", content=text))
    return files


def pages(docs: Path) -> dict[str, str]:
    """Return the text of every page by its name."""
    return {
        "index": INDEX,
        "commands": commands_page(),
        "configuration": configuration_page(),
        **{f"{family}s": family_page(family, docs) for family in FAMILIES},
        "json": json_page(),
        "python": python_index(),
        **{f"python-{task.lower()}": python_page(task) for task in PYTHON},
    }


def json_page() -> str:
    """Return the schemas of results."""
    parts = [
        "# JSON of results\n",
        "JSON schemas, draft 2020-12, made from the classes of results.",
    ]
    for command in RESULTS:
        content = json.dumps(schema(command), indent=1)
        parts.append(f"\n## `{command} --json`\n\n```json\n{content}\n```")
    return "\n".join(parts) + "\n"


def family_page(family: str, docs: Path) -> str:
    """Return the page of all components of a family."""
    parts = [f"# {FAMILIES[family]}\n"]
    if family == "metric":
        parts.append(
            "Write a metric as `name` or `name:option=value,...`, or as a formula, "
            "`0.6*port + 0.4*(1-ter)`. `portmert metrics NAME` shows the same.\n"
        )
    for name in own_names(family):
        described = describe(family, name)
        parts.append(f"## `{name}` {{: #{name} }}\n\n{described['summary']}\n")
        if described["description"]:
            parts.append(f"{described['description']}\n")
        if family == "metric":
            parts.append(_about_metric(name, docs))
        if described["options"]:
            rows = [
                (f"`{name}`", values, _default(default), meaning)
                for name, values, default, meaning in map(dict.values, described["options"])
            ]
            parts.append(_table(("option", "values", "default", "meaning"), rows))
    return "\n".join(parts)


def _about_metric(name: str, docs: Path) -> str:
    cls = component("metric", name)
    default = cls()
    better = "higher" if cls.higher_is_better else "lower"
    needs = ", ".join(sorted(str(need) for need in default.needs)) or "nothing but texts"
    lines = [
        f"- needs: {needs}",
        f"- better: {better}",
        f"- statistics: {', '.join(f'`{stat}`' for stat in default.stat_names)}",
        f"- source: {cls.source}",
    ]
    if page := formula_page(name, docs):
        lines.append(f"- formula: [{page}](../metrics/{page})")
    return "\n".join(lines) + "\n"


def formula_page(name: str, docs: Path) -> str | None:
    """Return the page of a metric's formulas, as docs/metrics/index.md names it."""
    index = docs / "metrics" / "index.md"
    for line in index.read_text(encoding="utf-8").splitlines() if index.exists() else ():
        row = _FORMULAS.match(line)
        if row and f"`{name}`" in row[2]:
            return row[1]
    return None


def configuration_page() -> str:
    """Return the page of all tables and keys of a configuration."""
    parts = [
        "# Configuration\n",
        (
            "These are the tables and keys of the TOML file of `portmert tune` and `portmert "
            "reproduce`. [Tune a decoder](../how-to/tune.md) shows whole files. Relative "
            "paths are relative to the folder of the file. An unknown table or key is an error "
            "that names the nearest known one. The command line can replace any value: "
            "`--set metric.alpha=0.5`.\n"
        ),
    ]
    for name, cls in (("tune", Tune), ("data", Data)):
        parts.append(f"## [{name}] {{: #{name} }}\n\n{_keys(cls)}")
    for family, title in FAMILIES.items():
        if family not in {"reader", "graph-reader"}:
            parts.append(
                f"## [{family}] {{: #{family} }}\n\n`name` is one of "
                f"{', '.join(f'[`{n}`]({family}s.md#{n})' for n in own_names(family))}; the "
                f"other keys are the options of that one: [{title}]({family}s.md).\n"
            )
    parts.append(
        "## [weights] {: #weights }\n\nStart weights and formulas of the decoder [`command`]"
        "(decoders.md#command): [Tune a decoder](../how-to/tune.md).\n"
    )
    text = Docstring(Constraints.from_table.__doc__ or "").parse(Parser.numpy)[0].value
    parts.append(f"## [constraints] {{: #constraints }}\n\n{text}\n")
    parts.append(
        "## [executor] {: #executor }\n\nThis table says where the work is done. `name` has the "
        "values of `--executor`, which overrides it. The other keys are options of a queueing "
        "system: [Several machines](../how-to/cluster.md). It changes no result.\n"
    )
    return "\n".join(parts)


def _keys(cls: type[Any]) -> str:
    meanings: dict[str, str] = {}
    for section in Docstring(cls.__doc__ or "").parse(Parser.numpy, warnings=False):
        if section.kind.value == "parameters":
            meanings |= {
                item.name.split(":")[0].strip(): item.description for item in section.value
            }
    schema = TypeAdapter(cls).json_schema()
    rows = [
        (
            f"`{key}`",
            _values(value),
            "must be given"
            if key in schema.get("required", ())
            else _default(_written(value.get("default"))),
            meanings[key],
        )
        for key, value in schema["properties"].items()
    ]
    return _table(("key", "values", "default", "meaning"), rows)


def _values(schema: dict[str, Any]) -> str:
    """Return in words what a JSON schema allows."""
    if "anyOf" in schema:
        return " or ".join(_values(part) for part in schema["anyOf"] if part["type"] != "null")
    if schema["type"] == "array":
        least = f", at least {schema['minItems']}" if "minItems" in schema else ""
        return f"list of: {_values(schema['items'])}{least}"
    kinds = {"string": "text", "boolean": "`true` or `false`", "number": "number"}
    text = "path" if schema.get("format") == "path" else kinds.get(schema["type"], schema["type"])
    words = {
        "minimum": "at least {}",
        "exclusiveMinimum": "more than {}",
        "maximum": "at most {}",
        "exclusiveMaximum": "less than {}",
    }
    limits = [form.format(f"{schema[key]:g}") for key, form in words.items() if key in schema]
    return ", ".join([text, *limits])


def _written(value: object) -> str:
    if value is None or value == []:
        return "unset"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _default(text: str | None) -> str:
    if text is None:
        return "must be given"
    return text if text == "unset" else f"`{text}`"


def commands_page() -> str:
    """Return the page of the help texts of all commands."""
    parts = ["# Commands\n", _help(main, "portmert", None)]
    context = click.Context(main, info_name="portmert")
    for name in main.list_commands(context):
        command = main.get_command(context, name)
        if command is None:
            raise LookupError(name)
        parts.append(f"## portmert {name} {{: #{name} }}\n\n{_help(command, name, context)}")
        if isinstance(command, click.Group):
            inner = click.Context(command, info_name=name, parent=context)
            for sub, below in sorted(command.commands.items()):
                parts.append(f"### portmert {name} {sub}\n\n{_help(below, sub, inner)}")
    return "\n".join(parts)


def _help(command: click.Command, name: str, parent: click.Context | None) -> str:
    context = click.Context(command, info_name=name, parent=parent, terminal_width=WIDTH)
    context.max_content_width = WIDTH
    return f"```text\n{command.get_help(context)}\n```\n"


def names_of(task: str) -> list[str]:
    """Return the names of a task; those that no task lists are in Extend."""
    if task != "Extend":
        return PYTHON[task][1].split()
    listed = {name for _, names in PYTHON.values() for name in names.split()}
    return [*PYTHON[task][1].split(), *sorted(set(portmert.__all__) - listed)]


def python_index() -> str:
    """Return the page of all public names by task, and of the types in their signatures."""
    parts = [
        "# Python\n",
        "`import portmert` has all of this: [a tour](../how-to/python.md).\n",
    ]
    for task, (sentence, _) in PYTHON.items():
        page = f"python-{task.lower()}.md"
        rows = [
            (f"[`{name}`]({page}#portmert.{name})", _summary(getattr(portmert, name)))
            for name in names_of(task)
        ]
        parts += [f"## {task}\n\n{sentence}\n", _table(("name", "what it does"), rows)]
    rows = [(f"`{name}`", meaning) for name, meaning in types().items()]
    parts += ["## Types in signatures {: #types }\n", _table(("type", "what it is"), rows)]
    return "\n".join(parts)


def python_page(task: str) -> str:
    """Return the page of a task; mkdocstrings fills it."""
    sentence = PYTHON[task][0]
    parts = [
        f"# Python: {task}\n",
        f"{sentence} Names of types that are not here are [in a table](python.md#types).\n",
    ]
    return "\n".join([*parts, *(f"::: portmert.{name}\n" for name in names_of(task))])


def _summary(described: object) -> str:
    is_documented = inspect.isclass(described) or callable(described)
    text = (inspect.getdoc(described) if is_documented else None) or "A type of values."
    return text.partition("\n\n")[0]


def types() -> dict[str, str]:
    """Return what each type is that public signatures name and `portmert` does not."""
    in_signatures = set()
    for name in portmert.__all__:
        for part in _with_members(getattr(portmert, name)):
            for annotation in getattr(part, "__annotations__", {}).values():
                written = annotation if isinstance(annotation, str) else str(annotation)
                in_signatures |= set(re.findall(r"[A-Za-z_]\w*", written))
    in_signatures -= set(portmert.__all__)
    meanings: dict[str, str] = {}
    for module, path in MODULES.items():
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                name, meaning = node.name, (ast.get_docstring(node) or "").partition("\n\n")[0]
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                name, meaning = node.targets[0].id, f"`{ast.unparse(node.value)}`"
            else:
                continue
            if name[0].isupper() and name in in_signatures and not name.isupper():
                meanings.setdefault(name, meaning or module)
    return dict(sorted(meanings.items()))


def _with_members(described: Any) -> list[Any]:
    """Return a function or a class, and the public functions of the class."""
    if not inspect.isclass(described):
        return [described]
    members = (
        getattr(member, "__func__", getattr(member, "fget", member))
        for name, member in vars(described).items()
        if not name.startswith("_")
    )
    return [described, *(member for member in members if inspect.isfunction(member))]


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    cells = (" | ".join(_cell(text) for text in line) for line in lines)
    return "\n".join(f"| {line} |" for line in cells) + "\n"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
