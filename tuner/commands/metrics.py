"""`portmert metrics`: what metrics there are."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import click

_WIDTH = 88


@click.command()
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(*, name: str | None, as_json: bool) -> None:
    """List the metrics, or describe the metric NAME with its options."""
    from tuner.components import registry  # noqa: PLC0415  start-up time

    chosen = registry.names("metric") if name is None else [name]
    entries = [_entry(each) for each in chosen]
    if as_json:
        click.echo(json.dumps(entries if name is None else entries[0], indent=2))
    elif name is None:
        click.echo(_table(entries))
    else:
        click.echo(_details(entries[0]))


_NEEDS = {
    "links": "links: word alignments with the source",
    "tags": "tags: parts of speech, from an annotator",
    "heads": "heads: dependency parses, from an annotator",
    "trees": "trees: constituency parses, from an annotator",
    "arcs": "arcs: weighted dependency links, from an annotator",
}


def _entry(name: str) -> dict[str, Any]:
    from tuner.components import registry  # noqa: PLC0415
    from tuner.components.catalogue import describe  # noqa: PLC0415

    cls = registry.component("metric", name)
    default = cls()
    return {
        **asdict(describe("metric", name)),
        "needs": sorted(str(need) for need in default.needs),
        "higher_is_better": cls.higher_is_better,
        "source": cls.source,
        "signature": default.signature,
        "statistics": list(default.stat_names),
    }


def _table(entries: list[dict[str, Any]]) -> str:
    from tabulate import tabulate  # noqa: PLC0415

    return tabulate(
        [
            [
                entry["name"],
                ", ".join(entry["needs"]) or "-",
                ", ".join(f"{o['name']}={o['default']}" for o in entry["options"]) or "-",
                entry["source"],
            ]
            for entry in entries
        ],
        headers=["metric", "needs", "options", "source"],
        tablefmt="simple",
        maxcolwidths=[None, None, 42, 40],
    )


def _details(entry: dict[str, Any]) -> str:
    needs = ", ".join(_NEEDS[need] for need in entry["needs"])
    lines = [entry["name"], "", *_wrapped(entry["summary"], "")]
    if entry["description"]:
        for paragraph in entry["description"].split("\n\n"):
            lines += ["", *_wrapped(paragraph, "")]
    lines += [
        "",
        f"source:     {entry['source']}",
        f"needs:      {needs or 'nothing besides the tokens'}",
        f"better:     {'higher' if entry['higher_is_better'] else 'lower'}",
        f"signature:  {entry['signature']}",
        *_wrapped(f"statistics: {', '.join(entry['statistics'])}", "            "),
        "",
    ]
    if not entry["options"]:
        return "\n".join([*lines, "It has no options."])
    lines.append(f"Options, as in {entry['name']}:{_example(entry)}")
    for option in entry["options"]:
        lines += [
            "",
            f"  {option['name']}: {option['values']} (default: {option['default']})",
            *(
                wrapped
                for line in option["meaning"].splitlines()
                for wrapped in _wrapped(f"      {line}", "        ")
            ),
        ]
    return "\n".join(lines)


def _example(entry: dict[str, Any]) -> str:
    set_options = [option for option in entry["options"] if option["default"] != "unset"]
    if not set_options:
        return f"{entry['options'][0]['name']}=FILE"  # all others have a default
    return ",".join(f"{option['name']}={option['default']}" for option in set_options[:2])


def _wrapped(text: str, indent: str) -> list[str]:
    import textwrap  # noqa: PLC0415

    return textwrap.wrap(
        text, _WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
