"""The command line: one module a subcommand, loaded only when it is called.

A subcommand is a module `penstock.cli.NAME` with a click command named `command`. It prints what a person reads, or
with `--json` one JSON value, on standard output; everything else goes to standard error. It raises `UserError` or
`Infeasible` and leaves the exit status to `main`.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import traceback
from typing import NoReturn

import click

from penstock.base.diagnostics import Infeasible, UserError, did_you_mean
from penstock.base.redaction import redact, redact_json

SUBCOMMANDS = {
    "demo": "Tell the whole story on one example, in three minutes.",
    "check": "Parse and type-check an application; report every error.",
    "explain": "Show the graph of an application at a stage of its compilation.",
    "run": "Run an application.",
    "profile": "Measure what the operators of an application cost.",
    "calibrate": "Measure what moving tuples costs on this machine.",
    "optimize": "Find the fastest plan of an application: fusion and channels.",
    "fuse": "Decide which operators share a process, and which host runs what.",
    "place": "Assign communicating tasks to machines.",
    "admit": "Choose which jobs a cluster admits and what each of them gets.",
    "savepoint": "Take a savepoint of a stopped job.",
    "rescale": "Give a job other channels, with its state.",
    "state": "Look into the state of a job.",
    "cluster": "Start and end a cluster of Spark's on this machine.",
    "serve": "Run the service that decides which jobs run on a cluster, and with how much.",
    "submit": "Give the service a job.",
    "status": "Show the jobs of the service, or what runs where in one.",
    "cancel": "Let the service end a job for good, or forget one that is over.",
    "suspend": "Let the service stop a job, which can be resumed.",
    "resume": "Let the service run a job that was suspended, or has failed.",
    "set-weight": "Change how much the streams of a job count.",
    "set-rank": "Change how early a job is admitted.",
    "logs": "Show what a job of the service has printed.",
    "bench": "Reproduce an experiment of the papers.",
}


class Subcommands(click.Group):
    """Finds a subcommand's module by its name, so that `penstock --help` imports none of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the order of a user's work."""
        return list(SUBCOMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """The command of a name, loaded now."""
        if name not in SUBCOMMANDS:
            return None
        command = importlib.import_module(f"penstock.cli.{name.replace('-', '_')}").command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is called, or what the caller may have meant."""
        name = args[0]
        if name not in SUBCOMMANDS and not name.startswith("-"):
            hint = did_you_mean(name, SUBCOMMANDS)
            ctx.fail(f"there is no command `{name}`" + (f"; {hint}" if hint else ""))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the subcommands with a line each."""
        with formatter.section("Commands"):
            formatter.write_dl(list(SUBCOMMANDS.items()))


@click.group(cls=Subcommands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="penstock", prog_name="penstock")
def cli() -> None:
    """Penstock compiles, profiles and schedules streaming applications.

    \b
    Example:
        penstock check examples/bargains/bargains.spl
        penstock explain examples/bargains/bargains.spl --html graph.html
        penstock run examples/bargains/bargains.spl --engine reference

    \b
    Let the shell complete commands, options and files (bash; zsh and fish
    are alike, with zsh_source and fish_source):
        eval "$(_PENSTOCK_COMPLETE=bash_source penstock)"
    """


def main() -> NoReturn:
    """Run the command line and exit with the status that the design lays down."""
    wants_json = "--json" in sys.argv
    try:
        status = cli.main(prog_name="penstock", standalone_mode=False)
        sys.exit(status if isinstance(status, int) else 0)
    except click.exceptions.Abort:
        click.echo("interrupted", err=True)
        sys.exit(130)
    except click.ClickException as error:
        _with_suggestion(error).show()
        sys.exit(2)
    except UserError as error:
        if wants_json:
            print_json({"errors": [d.to_json() for d in error.diagnostics]})
        click.echo(str(error), err=True)
        sys.exit(error.exit_status)
    except Infeasible as error:
        if wants_json:
            print_json({"feasible": False, "reason": error.reason, "conflicts": list(error.conflicts)})
        click.echo(f"no feasible solution: {redact(error.reason)}", err=True)
        sys.exit(error.exit_status)
    except BrokenPipeError:
        # The reader of our output (`head`, a pager) has gone; that is not an error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except Exception as bug:
        if isinstance(bug, OSError) and bug.filename is not None:
            click.echo(f"error: cannot use `{bug.filename}`: {bug.strerror}", err=True)
            sys.exit(1)
        if os.environ.get("PENSTOCK_DEBUG"):
            click.echo(redact("".join(traceback.format_exception(bug))), err=True)
            sys.exit(4)
        click.echo(
            f"internal error: {type(bug).__name__}: {redact(str(bug))}\n"
            "this is a bug in penstock; set PENSTOCK_DEBUG=1 to see where it happened",
            err=True,
        )
        sys.exit(4)


def _with_suggestion(error: click.ClickException) -> click.ClickException:
    """Where one of several words was asked for, name the one that was meant."""
    if not (isinstance(error, click.BadParameter) and error.param and isinstance(error.param.type, click.Choice)):
        return error
    given = error.message.partition("'")[2].partition("'")[0]
    hint = did_you_mean(given, [str(choice) for choice in error.param.type.choices])
    message = f"{error.message} {hint[0].upper()}{hint[1:]}" if hint else error.message
    return click.BadParameter(message, ctx=error.ctx, param=error.param)


def print_json(value: object) -> None:
    """Print one JSON value on standard output, without passwords."""
    click.echo(json.dumps(redact_json(value), indent=2, ensure_ascii=False))
