"""Help texts: commands and options in groups, in full and with one line for each."""

import inspect
import re
import shlex
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

import click

HEADINGS = {
    "Tune": "optimize tune rerank-tune rerank crossval",
    "Judge": "score compare reproduce metaeval humaneval",
    "Metrics": "metrics components metric-train annotate align",
    "Moses": "mert-moses optimize-dat",
    "Set up": "demo examples compile",
}
"""Heading -> commands, as `portmert --help` shows them."""
OPTIONS = {
    "Lists": "--nbest --nbest-format --systems --feature --ref --source --ref-links --ids "
    "--missing --drop-missing --missing-features --features-dat --scores-dat",
    "Texts": "--lowercase --text --text-model --annotator --annotation-cache",
    "Search": "--weights --optimizer --restarts --seed --threads --executor --fix --bound "
    "--sign --tie --prior --length-penalty --bootstrap --replicas",
    "Test set": "--test-nbest --test-nbest-format --test-ref --test-source --test-ref-links "
    "--test-feature --test-scores --test-answers",
    "Output": "--out --out-dir --links-out --fresh --json --latex --html --no-timing --quiet "
    "--verbose -h --help",
}
"""Heading -> options; the others stand first."""
PAGES = {
    "align": "how-to/aligners", "annotate": "how-to/syntax-metrics",
    "compare": "how-to/compare",
    "crossval": "how-to/crossval", "demo": "how-to/tune",
    "humaneval": "how-to/people", "metaeval": "how-to/people", "metric-train": "how-to/people",
    "metrics": "metrics/index", "optimize": "how-to/rerank", "optimize-dat": "how-to/moses",
    "reproduce": "metrics/papers", "rerank": "how-to/rerank",
    "rerank-tune": "how-to/rerank", "score": "tutorial", "tune": "how-to/tune",
}  # fmt: skip
"""Command -> its page of the guide."""
TAKE_VALUES = ("--out-dir", "--html", "--json", "--latex", "--plot", "--threads", "--executor")
WITHOUT_EFFECT = (*TAKE_VALUES, "--fresh", "--quiet", "-q", "--verbose", "-v")
"""Options that change no result: pages do not name them."""
COMMAND_LINE = "portmert.command_line"
"""Where the context of a command keeps what was typed."""
FEW = 8
"""With fewer options there are no headings."""
LEFT = 30
"""Columns of the name of an option where each has one line."""


class _InGroups(click.Command):
    """A command or a group whose help has its options in groups.

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
        for title, records in self._grouped(ctx).items():
            with formatter.section(title):
                formatter.write_dl(records)

    def _grouped(self, ctx: click.Context) -> dict[str, list[tuple[str, str]]]:
        """Return forms and texts of the options by heading."""
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
        return {title: records for title, records in groups.items() if records}


class Command(_InGroups):
    """A command with a whole help, `--help`, and a line for each option, `-h`."""

    def get_help_option_names(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  click's
        """Return the option of the whole help; `-h` is a shorter one."""
        return ["--help"]

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return all parameters, and `-h`."""
        *params, whole_help = super().get_params(ctx)
        return [*params, _SHORT, whole_help]

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write what the command does, without its examples."""
        described = click.Command(self.name, help="\n\n".join(self._paragraphs(are_code=False)))
        described.format_help_text(ctx, formatter)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write examples, and where to read on."""
        if examples := self._paragraphs(are_code=True):
            with formatter.section("Examples"):
                formatter.write(textwrap.indent("\n".join(examples), "  ") + "\n")
        places = [(f"{ctx.command_path} -h", "one line for each option")]
        if page := PAGES.get(" ".join(ctx.command_path.split()[1:2])):
            places.append(
                (f"docs/{page}.md", "in the folder that `portmert examples FOLDER` makes")
            )
        with formatter.section("Learn more"):
            formatter.write_dl(places)

    def short_help_text(self, ctx: click.Context) -> str:
        """Return one line for the command, and one for each option."""
        formatter = ctx.make_formatter()
        self.format_usage(ctx, formatter)
        formatter.write(f"\n  {self.get_short_help_str(limit=1000)}\n")
        for title, records in self._grouped(ctx).items():
            formatter.write(f"\n{title}:\n")
            for form, text in records:
                name = form if len(form) < LEFT else form.partition(" ")[0]
                clause = re.split(r"[.:;] |\.$|, (?:for example|which|where) ", text)[0]
                line = textwrap.shorten(clause, formatter.width - LEFT - 2, placeholder=" ...")
                formatter.write(f"  {name:<{LEFT}}{line}".rstrip() + "\n")
        return (
            formatter.getvalue() + f"\n`{ctx.command_path} --help` has all of it, with examples.\n"
        )

    def _paragraphs(self, *, are_code: bool) -> list[str]:
        """Return the paragraphs of the docstring that are examples, or those that are not."""
        text = inspect.cleandoc(self.help or "").partition("\f")[0]
        return [
            paragraph.removeprefix("\b\n")
            for paragraph in re.split(r"\n\s*\n", text)
            if paragraph.startswith("\b\n") == are_code
        ]


def _show_short(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing and isinstance(ctx.command, Command):
        click.echo(ctx.command.short_help_text(ctx), nl=False)
        ctx.exit()


_SHORT = click.Option(
    ["-h"], is_flag=True, is_eager=True, expose_value=False, callback=_show_short,
    help="Show a line for each option, and exit.",
)  # fmt: skip


class CommandGroup(_InGroups, click.Group):
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
            lines = [(name, line) for name in names if (line := self.first_sentence(ctx, name))]
            if lines:  # else the extensions that have them are missing
                with formatter.section(title):
                    formatter.write_dl(lines)

    def first_sentence(self, ctx: click.Context, name: str) -> str | None:
        """Return the first sentence of the help of a command; None if there is none."""
        command = self.get_command(ctx, name)
        return command.get_short_help_str(limit=1000) if command else None


class WrongUsage(click.ClickException):
    """A fault of the command line, in the form of all other faults."""

    exit_code = 2

    def __init__(self, fault: click.UsageError) -> None:
        path = fault.ctx.command_path if fault.ctx is not None else "portmert"
        super().__init__(f"{fault.format_message()} ({path} -h lists the options)")

    def show(self, file: Any = None) -> None:
        """Write one line."""
        click.echo(f"portmert: error: {self.format_message()}", file=file, err=file is None)


def _with_effect(words: Sequence[str], *, needs_folder: bool) -> list[str]:
    """Return the words of a command that decide its result; a folder that it needs is DIR."""
    with_effect: list[str] = []
    before = ""
    for word in words:
        name, is_value = word.partition("=")[0], word == "-" or not word.startswith("-")
        if name == "--out-dir" and needs_folder:
            with_effect.append("--out-dir=DIR")
        elif name not in WITHOUT_EFFECT and not (is_value and before in TAKE_VALUES):
            with_effect.append(word)
        before = word
    return with_effect


def _with_options(text: str, names: dict[str, str]) -> str:
    return re.sub(r"`(\w+)`", lambda match: names.get(match[1], match[0]), text)
