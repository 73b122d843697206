"""`portmert components`: lists and describes metrics, optimizers, readers and so on."""

from collections.abc import Iterable, Mapping
from typing import Any

import click

from ..base.documents import to_json
from ..base.errors import ConfigError, suggest
from ..families import FAMILIES, names, unreadable
from ._outputs import notice

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
    """List all components, those of a FAMILY, or describe the component NAME with its options.

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
        if family not in FAMILIES:
            family, name = _family_of(family, name), family
        show(family, name, as_json=as_json)
        return
    from ..components.catalogue import catalogue  # noqa: PLC0415  start-up time

    found = {each: list(catalogue(each)) for each in FAMILIES}
    _tell_unreadable()
    if as_json:
        click.echo(to_json(found, indent=2))
    else:
        click.echo("\n\n".join(_table(each, parts) for each, parts in found.items()))


def _family_of(text: str, more: str | None) -> str:
    """Return the one family that has a component of a name."""
    name = text.partition(":")[0].lower()
    from ..components.external import NAMES  # noqa: PLC0415  start-up time

    known = {family: names(family) for family in FAMILIES}
    known["metric"] += NAMES.keys() - known["decoder"]
    found = [family for family in known if name in known[family]]
    if more is not None or not found:
        others = [] if more is not None else [one for each in known.values() for one in each]
        near = suggest(name, [*FAMILIES, *others])
        raise ConfigError(f"there is no family{' or component' * (more is None)} '{text}'{near}")
    if len(found) > 1:
        raise ConfigError(f"'{name}' is in the families {' and '.join(found)}: name one before it")
    return found[0]


def show(family: str, name: str | None, *, as_json: bool) -> None:
    """Print the components of a family, or the one of this name."""
    from ..components.catalogue import catalogue, describe  # noqa: PLC0415  start-up time

    if name is None:
        found = list(catalogue(family))
        _tell_unreadable()
        click.echo(to_json(found, indent=2) if as_json else _table(family, found))
        return
    one = describe(family, name)
    click.echo(to_json(one, indent=2) if as_json else _details(family, one))


def _tell_unreadable() -> None:
    """Say which packages may have components that are not listed."""
    for line in unreadable():
        notice(line)


def _table(family: str, found: Iterable[Described]) -> str:
    from ..base.tables import aligned  # noqa: PLC0415  start-up time

    last = "source" if family == "metric" else "what it does"
    return aligned(
        [family, "needs", "options", last],
        [
            [
                one["name"],
                # For a metric from outside first its file, model or program.
                ", ".join([*one.get("argument", "").lower().split()[:1], *one.get("needs", ())])
                or "-",
                # An option without a default is among the needs, except for metrics.
                ", ".join(
                    _pair(option)
                    for option in one.get("options", ())
                    if family == "metric" or option["default"] is not None
                )
                or (f"as {one['name']}:{one['argument']}" if "argument" in one else "-"),
                _last_cell(family, one),
            ]
            for one in found
        ],
        sides="llll",
        widths=[None, None, 42, 40],
    )


def _pair(option: Described) -> str:
    return f"{option['name']}={option['default']}"


def _last_cell(family: str, one: Described) -> str:
    if one.get("fault"):
        return f"broken: {one['fault']}"
    text = one["source"] if family == "metric" else " ".join(one["summary"].split())
    return f"{text} (package {one['package']})" if one["package"] else text


def _details(family: str, one: Described) -> str:
    lines = [one["name"], "", *_wrapped(one["summary"], "")]
    if one["description"]:
        for paragraph in one["description"].split("\n\n"):
            lines += ["", *_wrapped(paragraph, "")]
    lines.append("")
    for label, text in _facts(family, one):
        line = f"{label + ':':11} {text}"
        lines += [line] if label == "signature" else _wrapped(line, " " * 12)
    if one.get("example"):
        lines += ["example:", *(f"  {line}" for line in one["example"].splitlines())]
    lines.append("")
    if not one["options"]:
        other = "other " if one.get("argument") else ""
        return "\n".join([*lines, f"It has no {other}options."])
    lines.append(f"Options, as in {one['name']}:{_example(one)}")
    for option in one["options"]:
        default = (
            "must be given"
            if option["default"] is None
            else f"default: {option['default'] or 'empty'}"
        )
        given = "" if "given" not in option else f"; here: {option['given']}"
        lines += [
            "",
            f"  {option['name']}: {option['values']} ({default}{given})",
            *(
                wrapped
                for line in option["meaning"].splitlines()
                for wrapped in _wrapped(f"      {line}", "        ")
            ),
        ]
    return "\n".join(lines)


def _facts(family: str, one: Described) -> Iterable[tuple[str, str]]:
    """Yield label and text of each line between the description and the options."""
    if one["source"]:
        yield "source", one["source"]
    if one["package"]:
        yield "package", one["package"]
    if family == "metric":
        needs = ", ".join(_NEEDS[need] for need in one["needs"])
        yield "needs", needs or "nothing besides the tokens"
        yield "better", "higher" if one["higher_is_better"] else "lower"
        if one["signature"] is not None:
            yield "signature", one["signature"]
            yield "statistics", ", ".join(one["statistics"])
        return
    yield "needs", ", ".join(f"{need}=..." for need in one["needs"]) or "no option"
    if family == "annotator":
        yield "gives", ", ".join(one["gives"])
    if family == "optimizer":
        yield "sparse", "searched too" if one["sparse"] else "features keep their weights"


def _example(one: Described) -> str:
    wanted = [f"{option['name']}=..." for option in one["options"] if option["default"] is None]
    known = [_pair(o) for o in one["options"] if o["default"] not in (None, "unset", "", "none")]
    if not wanted and not known:
        return f"{one['options'][0]['name']}=FILE"  # all others have a default
    return ",".join(wanted or known[:2])


def _wrapped(text: str, indent: str) -> list[str]:
    import textwrap  # noqa: PLC0415  start-up time

    return textwrap.wrap(
        text, 88, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
