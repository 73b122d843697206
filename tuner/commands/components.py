"""`portmert components`: lists and describes metrics, optimizers, readers and so on."""

import itertools
from collections.abc import Iterable, Mapping
from typing import Any

import click

from ..base.errors import ConfigError, suggest
from ..base.json_toml import to_json
from ..families import families, missing, names

Described = Mapping[str, Any]
"""A component or an option, see `catalogue.describe`."""

_NEEDS = {
    "links": "links: word alignments with the source",
    "tags": "tags: parts of speech, from an annotator",
    "heads": "heads: dependency parses, from an annotator",
    "trees": "trees: constituency parses, from an annotator",
    "roles": "roles: predicates with their arguments, from an annotator",
    "drs": "drs: discourse representations, from an annotator",
    "source": "source: the source text",
    "arcs": "arcs: weighted dependency links, from an annotator",
}

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.command()
@click.argument("family", required=False, metavar="[FAMILY]")
@click.argument("name", required=False)
@json_option
def command(*, family: str | None, name: str | None, as_json: bool) -> None:
    """List components, or describe one.

    FAMILY is metric, aligner, decoder, optimizer, reader or annotator. It may be left out if only
    one family has the NAME. Options after the NAME are checked. Components of other packages are
    listed too.

    \b
    Examples:
      portmert components optimizer
      portmert components reader flat:n=100
      portmert components jsonl
    """  # noqa: D301  click's mark of lines that stay as they are
    if family is not None:
        if family not in families():
            family, name = _family_of(family, name), family
        show(family, name, as_json=as_json)
        return
    from ..components.catalogue import catalogue  # noqa: PLC0415  start-up time

    by_family = {title: list(catalogue(title)) for title in families()}
    if as_json:
        click.echo(to_json(by_family, indent=2))
    else:
        click.echo("\n\n".join(_table(title, parts) for title, parts in by_family.items()))


def _family_of(text: str, after: str | None) -> str:
    """Return the one family that has a component of a name; nothing may come after the name."""
    name = text.partition(":")[0].lower()
    from ..components.external import NAMES  # noqa: PLC0415  start-up time

    by_family = {family: names(family) for family in families()}
    by_family["metric"] += NAMES.keys() - by_family["decoder"]
    having = [family for family in by_family if name in by_family[family]]
    if after is not None or not having:
        components = [] if after is not None else itertools.chain(*by_family.values())
        near = suggest(name, [*by_family, *components])
        absent = missing("portmert.families", text)
        raise ConfigError(
            absent or f"there is no family{' or component' * (after is None)} '{text}'{near}"
        )
    if len(having) > 1:
        raise ConfigError(
            f"'{name}' is in the families {' and '.join(having)}: name one before it"
        )
    return having[0]


def show(family: str, name: str | None, *, as_json: bool) -> None:
    """Print the components of a family, or the one of this name."""
    from ..components.catalogue import catalogue, describe  # noqa: PLC0415  start-up time

    if name is None:
        components = list(catalogue(family))
        click.echo(to_json(components, indent=2) if as_json else _table(family, components))
        return
    component = describe(family, name)
    click.echo(to_json(component, indent=2) if as_json else _details(family, component))


def _table(family: str, components: Iterable[Described]) -> str:
    from ..base.tables import aligned  # noqa: PLC0415  start-up time

    last = "source" if family == "metric" else "what it does"
    return aligned(
        [family, "needs", "options", last],
        [_row(family, component) for component in components],
        sides="llll",
        widths=[None, None, 42, 40],
    )


def _row(family: str, component: Described) -> list[str]:
    """Return name, needs, options and the last cell of a component."""
    # A metric from outside needs first its file, model or program.
    argument = component.get("argument", "")
    needs = [*argument.lower().split()[:1], *component.get("needs", ())]
    # An option without a default is among the needs, except for metrics.
    options = [
        _pair(option)
        for option in component.get("options", ())
        if family == "metric" or option["default"] is not None
    ]
    if not options and argument:
        options = [f"as {component['name']}:{argument}"]
    if component.get("fault"):
        last = f"broken: {component['fault']}"
    else:
        last = component["source" if family == "metric" else "summary"]
        last = last if family == "metric" else " ".join(last.split())
        last += f" (package {component['package']})" if component["package"] else ""
    return [component["name"], ", ".join(needs) or "-", ", ".join(options) or "-", last]


def _pair(option: Described) -> str:
    return f"{option['name']}={option['default']}"


def _details(family: str, component: Described) -> str:
    lines = [component["name"], "", *_wrapped(component["summary"], "")]
    if component["description"]:
        for paragraph in component["description"].split("\n\n"):
            lines += ["", *_wrapped(paragraph, "")]
    lines.append("")
    for label, text in _facts(family, component):
        line = f"{label + ':':11} {text}"
        lines += [line] if label == "signature" else _wrapped(line, " " * 12)
    if component.get("example"):
        lines += ["example:", *(f"  {line}" for line in component["example"].splitlines())]
    lines.append("")
    if not component["options"]:
        besides = "other " if component.get("argument") else ""
        return "\n".join([*lines, f"It has no {besides}options."])
    lines.append(f"Options, as in {component['name']}:{_example(component)}")
    for option in component["options"]:
        default = (
            "must be given"
            if option["default"] is None
            else f"default: {option['default'] or 'empty'}"
        )
        here = "" if "given" not in option else f"; here: {option['given']}"
        lines += [
            "",
            f"  {option['name']}: {option['values']} ({default}{here})",
            *(
                wrapped
                for line in option["meaning"].splitlines()
                for wrapped in _wrapped(f"      {line}", "        ")
            ),
        ]
    return "\n".join(lines)


def _facts(family: str, component: Described) -> Iterable[tuple[str, str]]:
    """Yield label and text of each line between the description and the options."""
    if component["source"]:
        yield "source", component["source"]
    if component["package"]:
        yield "package", component["package"]
    if family == "metric":
        needs = ", ".join(_NEEDS[need] for need in component["needs"])
        yield "needs", needs or "nothing besides the tokens"
        yield "better", "higher" if component["higher_is_better"] else "lower"
        if component["signature"] is not None:
            yield "signature", component["signature"]
            yield "statistics", ", ".join(component["statistics"])
        return
    yield "needs", ", ".join(f"{need}=..." for need in component["needs"]) or "no option"
    if family == "annotator":
        yield "gives", ", ".join(component["gives"])
    if family == "optimizer":
        yield "sparse", "searched too" if component["sparse"] else "features keep their weights"


def _example(component: Described) -> str:
    required = [
        f"{option['name']}=..." for option in component["options"] if option["default"] is None
    ]
    defaults = [
        _pair(o) for o in component["options"] if o["default"] not in (None, "unset", "", "none")
    ]
    if not required and not defaults:
        return f"{component['options'][0]['name']}=FILE"  # all others have a default
    return ",".join(required or defaults[:2])


def _wrapped(text: str, indent: str) -> list[str]:
    import textwrap  # noqa: PLC0415  start-up time

    return textwrap.wrap(
        text, 88, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
