"""Help texts: commands and options in groups."""

import re
import shlex
from collections.abc import Iterable, Sequence
from typing import Any

import click

HEADINGS = {
    "Tune": "optimize tune rerank-tune rerank crossval",
    "Judge": "score compare report reproduce metaeval humaneval",
    "Metrics": "metrics components metric-train annotate align cache",
    "Moses": "mert-moses optimize-dat",
    "Set up": "demo examples compile",
}
"""Heading -> commands, as `portmert --help` shows them."""
OPTIONS = {
    "Lists": "--nbest --nbest-format --systems --feature --ref --source --ref-links --ids "
    "--drop-missing --missing-features --features-dat --scores-dat",
    "Texts": "--lowercase --text --text-model --annotator --annotation-cache",
    "Search": "--weights --optimizer --restarts --seed --threads --executor --fix --bound "
    "--sign --tie --prior --length-penalty --bootstrap --replicas",
    "Test set": "--test-nbest --test-nbest-format --test-ref --test-source --test-ref-links "
    "--test-feature --test-scores --test-answers",
    "Output": "--out --out-dir --links-out --fresh --json --latex --html --no-timing --quiet "
    "--verbose --help",
}
"""Heading -> options; the others stand first."""
TAKE_VALUES = ("--out-dir", "--html", "--json", "--latex", "--plot", "--threads", "--executor")
WITHOUT_EFFECT = (*TAKE_VALUES, "--fresh", "--quiet", "-q", "--verbose", "-v")
"""Options that change no result: pages do not name them."""
COMMAND_LINE = "portmert.command_line"
"""Where the context of a command keeps what was typed."""
FEW = 8
"""With fewer options there are no headings."""


class Command(click.Command):
    """A command whose help has its options in groups.

    Names of parameters in backquotes are those of options.
    """

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        """Keep what was typed."""
        needs_folder = any(option.name == "out_dir" and option.required for option in self.params)
        typed = _with_effect(args, needs_folder=needs_folder)
        context = super().make_context(info_name, args, parent, **extra)
        context.meta[COMMAND_LINE] = shlex.join(["portmert", info_name or "", *typed])
        return context

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options under their headings."""
        names = {
            option.name or "": option.opts[0]
            for option in self.params
            if isinstance(option, click.Option)
        }
        group_of = {name: title for title, names in OPTIONS.items() for name in names.split()}
        groups: dict[str, list[tuple[str, str]]] = {title: [] for title in ("Options", *OPTIONS)}
        title = "Options"
        for option in self.get_params(ctx):
            record = option.get_help_record(ctx)
            if record is not None and isinstance(option, click.Option):
                if option.opts[-1] != "--set":  # it sets something of the option before it
                    title = group_of.get(option.opts[-1], "Options")
                groups[title].append((record[0], _with_options(record[1], names)))
        if sum(map(len, groups.values())) < FEW:
            groups = {"Options": [record for records in groups.values() for record in records]}
        for title, records in groups.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


class CommandGroup(Command, click.Group):
    """A command with commands below it, whose first lines are shown in full."""

    command_class = Command

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, then the commands."""
        super().format_options(ctx, formatter)
        self.format_commands(ctx, formatter)

    def groups(self, ctx: click.Context) -> Iterable[tuple[str, Iterable[str]]]:
        """Yield headings and the commands under them."""
        yield "Commands", self.list_commands(ctx)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands under their headings."""
        for title, names in self.groups(ctx):
            lines = [(name, self.first_sentence(ctx, name)) for name in names]
            with formatter.section(title):
                formatter.write_dl([(name, line) for name, line in lines if line])

    def first_sentence(self, ctx: click.Context, name: str) -> str | None:
        """Return the first sentence of the help of a command; None if there is none."""
        command = self.get_command(ctx, name)
        return command.get_short_help_str(limit=1000) if command else None


def _with_effect(words: Sequence[str], *, needs_folder: bool) -> list[str]:
    """Return the words of a command that decide its result; a folder that it needs is DIR."""
    kept: list[str] = []
    before = ""
    for word in words:
        name, is_value = word.partition("=")[0], word == "-" or not word.startswith("-")
        if name == "--out-dir" and needs_folder:
            kept.append("--out-dir=DIR")
        elif name not in WITHOUT_EFFECT and not (is_value and before in TAKE_VALUES):
            kept.append(word)
        before = word
    return kept


def _with_options(text: str, names: dict[str, str]) -> str:
    return re.sub(r"`(\w+)`", lambda match: names.get(match[1], match[0]), text)
