"""The program `portmert`: its commands; a user's fault becomes one line and a status."""

import ast
import errno
import importlib.util
import io
import os
import pkgutil
import sys
import traceback
from collections.abc import Iterable
from importlib.metadata import EntryPoint
from typing import Any

import click

import portmert

from . import commands, families
from .base import pipes
from .base.errors import PortmertError, as_message, exhausted, named, reason, suggest
from .base.interrupts import signals_as_interrupts, status_after
from .base.warn import shown_messages
from .commands._help import HEADINGS, CommandGroup, WrongUsage
from .commands._options_of_functions import definition
from .commands._outputs import VOICE, with_volume

MEMORY_FAULTS = (errno.ENOMEM, errno.EAGAIN, errno.EMFILE, errno.ENFILE)
"""Errors when a process or a thread starts, or one more file is opened."""

DISK_FAULTS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""Errors of any write, of a temporary file too."""


COMMANDS = "portmert.commands"
"""The group of entry points of commands."""


class AllCommands(CommandGroup):
    """The modules of `portmert.tuner.commands` and commands of extensions, loaded when called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  click's signature
        """Return the names of all commands."""
        modules = (module.name for module in pkgutil.iter_modules(commands.__path__))
        core = {name.replace("_", "-") for name in modules if not name.startswith("_")}
        return sorted(core | {*families.extensions(COMMANDS)})

    def groups(self, ctx: click.Context) -> Iterable[tuple[str, Iterable[str]]]:
        """Yield headings and the commands under them."""
        ungrouped = dict.fromkeys(self.list_commands(ctx))
        for title, names in HEADINGS.items():
            yield title, names.split()
            ungrouped = {name: None for name in ungrouped if name not in names.split()}
        if ungrouped:
            yield "Others", ungrouped

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load one command; None if there is none of this name."""
        places = _places(cmd_name)
        if len(places) > 1:
            owners = " and in ".join(map(families.owner, places))
            ctx.fail(f"command '{cmd_name}' is in {owners}; uninstall one package")
        if not places:
            return None
        try:
            return with_volume(places[0].load())
        except Exception as error:
            if families.is_ours(places[0]):
                raise
            package = families.owner(places[0])
            ctx.fail(f"command '{cmd_name}' of {package} cannot be loaded: {named(error)}")

    def first_sentence(self, ctx: click.Context, name: str) -> str | None:
        """Return the first sentence of a command's docstring; ours are read, not imported."""
        places = _places(name)
        if places and families.is_ours(places[0]):
            _, function = definition(places[0].value.replace(":", ".").removeprefix("portmert."))
            described = click.Command(name, help=ast.get_docstring(function))
            return described.get_short_help_str(limit=1000)
        try:
            return super().first_sentence(ctx, name)
        except click.UsageError as fault:
            return f"broken: {fault.message}"

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; for an unknown one, suggest the nearest name."""
        name = args[0]
        if not name.startswith("-") and self.get_command(ctx, name) is None:
            unknown = f"no command '{name}'{suggest(name, self.list_commands(ctx))}"
            ctx.fail(families.missing(COMMANDS, name) or unknown)
        return super().resolve_command(ctx, args)

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run the program; a lack of memory or disk is one line.

        A fault in a component of another package is shown with its traceback and its name.
        """
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="surrogateescape")  # names of files that are no UTF-8
        try:
            return super().main(*args, **kwargs)
        except Exception as error:
            fault = families.fault_of(error)
            message = fault or families.missing_part(error) or _lacking(error)
            if message is None:
                raise
            if fault or VOICE.verbose:
                traceback.print_exception(error)
            click.echo(f"portmert: error: {as_message(message)}", err=True)
            if isinstance(error, OSError) and error.errno in DISK_FAULTS:
                _discard_output()  # what waits to be written fails once more when Python ends
            sys.exit(1)

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        """Parse the words before the name of a command."""
        try:
            return super().make_context(*args, **kwargs)
        except click.exceptions.NoArgsIsHelpError:
            raise
        except click.UsageError as fault:
            raise WrongUsage(fault) from fault

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; a fault the user can mend ends as one line and exit status 1 or 2."""
        VOICE.reset()
        with signals_as_interrupts(), shown_messages(VOICE), pipes.kept():
            try:
                return super().invoke(ctx)
            except PortmertError as error:
                click.echo(f"portmert: error: {error}", err=True)
                ctx.exit(1)
            except click.exceptions.NoArgsIsHelpError:
                raise
            except click.UsageError as fault:
                raise WrongUsage(fault) from fault
            except BrokenPipeError:  # the reader of a pipe (head, less) has seen enough
                sys.stderr.close()
                ctx.exit(1)
            except KeyboardInterrupt as error:  # click would take it for its own
                ctx.exit(status_after(error, "portmert"))


def _places(name: str) -> list[EntryPoint]:
    """Return where a command is, our own first: in the core, and in packages that add one."""
    module = f"portmert.tuner.commands.{name.replace('-', '_')}"
    in_core = "_" not in name and importlib.util.find_spec(module) is not None
    core = [EntryPoint(name, f"{module}:command", COMMANDS)] if in_core else []
    entries = core + families.extensions(COMMANDS).get(name, [])
    return sorted(entries, key=families.is_ours, reverse=True)


def _lacking(error: BaseException) -> str | None:
    """Return one line about a lack of memory, disk or libraries; None for another fault."""
    if isinstance(error, ImportError) and "shared object" in str(error):
        return f"a library cannot be loaded, is there enough memory? {error}"
    if (
        isinstance(error, MemoryError | RecursionError)
        or "start new thread" in str(error)
        or getattr(error, "errno", None) in MEMORY_FAULTS
    ):
        return exhausted(error)
    if not isinstance(error, OSError):
        return None
    if error.errno in {errno.ENAMETOOLONG, errno.ELOOP, errno.EACCES, errno.EEXIST, errno.EISDIR}:
        return f"{error.filename}: {reason(error)}"
    if error.errno in DISK_FAULTS:
        place = error.filename or "standard output or a temporary file"
        return f"{place}: cannot write: {error.strerror}"
    return None


def _discard_output() -> None:
    """Discard the output that is not written yet."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
    except (OSError, ValueError):  # stdout is no file
        pass


@click.group(cls=AllCommands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(portmert.__version__, prog_name="portmert")
def main() -> None:
    """Learn how much each score of a candidate should count, and test the gain.

    Completion of commands and options by the shell, in .bashrc (.zshrc: zsh_source):

    \b
    eval "$(_PORTMERT_COMPLETE=bash_source portmert)"
    """  # noqa: D301  \b is click's sign for lines to leave alone
