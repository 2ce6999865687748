"""The options of every subcommand that takes APP, and how APP is found and compiled."""

from __future__ import annotations

import os
from collections import UserDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.shell_completion import CompletionItem

from penstock.base import sandbox
from penstock.base.diagnostics import UserError, did_you_mean
from penstock.base.redaction import redact
from penstock.base.secret_references import protect_value
from penstock.cli.options.option_types import LocalFolder
from penstock.cli.options.python_application import python_program
from penstock.expr.analysis import calls_of
from penstock.ir.expressions import Call, Expression, Literal
from penstock.ir.graph import Application, Operator
from penstock.toolkit.analysis.effects import operator_parts

if TYPE_CHECKING:
    from penstock.expr.environment import Environment
    from penstock.toolkit.core.program import Program

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class AppArguments:
    """APP and the options that go with it.

    Attributes:
        app: A `.spl` or `.splmm` file, or `module:app` or `file.py:app`.
        main: The main composite, where there are several.
        toolkits: Folders of SPL and Python toolkits.
        data: What relative file names are resolved against.
        settings: Submission-time and compile-time values, each name with all the values given for it.
        arguments: Compile-time arguments, in order.
    """

    app: str
    main: str | None
    toolkits: tuple[Path, ...]
    data: Path | None
    settings: dict[str, list[str]]
    arguments: tuple[str, ...] = ()

    def program(self) -> Program:
        """Find and compile the application."""
        if sandbox.is_on() and not self.app.endswith((".spl", ".splmm")):
            hint = "run it without --sandbox if you trust it; or give a file of SPL"
            raise UserError(f"`{self.app}` is Python, which a sandbox does not run", hint=hint)
        if self.app.endswith((".spl", ".splmm")):
            return self._compile_spl()
        if self.app.endswith(".py"):
            return python_program(self.app, "", self.settings)
        path, colon, attribute = self.app.rpartition(":")
        if not colon or not path:
            raise UserError(f"`{self.app}` is not an application", hint="give FILE.spl, FILE.py:app or MODULE:app")
        return python_program(path, attribute, self.settings)

    @property
    def compile_values(self) -> dict[str, list[str]]:
        """The values of `getCompileTimeValue`: those of arguments such as `NAME=VALUE`, and all settings."""
        named = _settings(tuple(a for a in self.arguments if a.partition("=")[0] and "=" in a))
        return {**self.settings, **named}

    def other_program(self, app: str) -> Program:
        """Find and compile another application with the same options."""
        return replace(self, app=app, main=None).program()

    def _compile_spl(self) -> Program:
        from penstock.lang import compile_file
        from penstock.lang.toolkit_folders import path_toolkits

        if Path(self.app).is_dir():
            raise UserError(f"`{self.app}` is a folder, not a file")
        if not Path(self.app).is_file():
            raise UserError(f"there is no file `{self.app}`", hint=_near_file(Path(self.app)))
        watched = Watched(self.compile_values)
        program = compile_file(
            Path(self.app),
            main=self.main,
            toolkits=(*self.toolkits, *(() if sandbox.is_on() else path_toolkits())),
            compile_values=watched,
            arguments=self.arguments,
        )
        # Perl may read an argument.
        for name, asked in ((n, a) for n, a in unread(program.application, watched) if n in self.settings):
            hint = did_you_mean(name, asked)
            click.echo(f"warning: nothing asks for `--set {name}`" + (f"; {hint}" if hint else ""), err=True)
        return program

    def tell_warnings(self, program: Program) -> None:
        """Print what a user should know of a program that compiles."""
        from penstock.cli.output.notices import program_warnings
        from penstock.parallel.report import warning_text

        for warning in program_warnings(program):
            click.echo(warning_text(warning), err=True)

    def environment(self, program: Program, out: Path | None = None, start_ns: int = 0) -> Environment:
        """The environment that these options describe; the clock starts at a time."""
        from penstock.expr.configurations import read_configurations
        from penstock.expr.environment import Clock, Environment

        data = self.data if self.data is not None else _default_data(program.directory)
        if not data.is_dir():
            raise UserError(f"there is no data folder `{data}`")
        return Environment(
            submission_values=self.settings,
            compile_values=self.compile_values,
            configurations=read_configurations(),
            # The workers of a cluster have folders of their own to start in.
            data_directory=data.absolute(),
            output_directory=(out if out is not None else data).absolute(),
            application_directory=program.directory.absolute(),
            clock=Clock(start_ns),
        )


def takes_application(function: F) -> F:
    """Give a command the argument APP and its options, as one `AppArguments` named `arguments`."""

    def wrapper(
        app: str,
        main: str | None,
        toolkit: tuple[Path, ...],
        data: Path | None,
        setting: tuple[str, ...],
        argument: tuple[str, ...],
        **rest: Any,
    ) -> Any:
        arguments = AppArguments(
            app=app, main=main, toolkits=toolkit, data=data, settings=_settings(setting), arguments=argument
        )
        return function(arguments=arguments, **rest)

    wrapper.__name__, wrapper.__doc__ = function.__name__, function.__doc__
    options = [
        click.argument("app", shell_complete=lambda _context, _parameter, begun: [CompletionItem(begun, type="file")]),
        click.option("--main", metavar="COMPOSITE", help="The main composite, where a file has several."),
        click.option(
            "--toolkit",
            multiple=True,
            type=click.Path(path_type=Path),
            metavar="DIR",
            help="A toolkit of SPL and Python, or a folder of toolkits; may be given several times. [STREAMS_SPLPATH]",
        ),
        click.option(
            "--data",
            type=LocalFolder(),
            metavar="DIR",
            help="What relative file names are resolved against. Default: the application's `data` folder, or here.",
        ),
        click.option(
            "--set",
            "setting",
            multiple=True,
            metavar="NAME=VALUE",
            help="A submission-time or compile-time value; may be given several times.",
        ),
        click.option(
            "--argument",
            multiple=True,
            metavar="ARGUMENT",
            help="A compile-time argument: @ARGV of Perl in SPL (.splmm), in order, and a compile-time value if it is "
            "NAME=VALUE; may be given several times.",
        ),
        _SANDBOX,
    ]
    command: Any = wrapper
    command.__click_params__ = getattr(function, "__click_params__", [])
    for option in reversed(options):
        command = option(command)
    return command  # type: ignore[no-any-return] # click's decorators keep what they decorate


def _enter_sandbox(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value:
        os.environ[sandbox.VARIABLE] = "1"


_SANDBOX = click.option(
    "--sandbox",
    is_flag=True,
    expose_value=False,
    callback=_enter_sandbox,
    help="For a program that you do not trust: SPL alone, no functions for files or the environment, no "
    "servers, no toolkits but those that --toolkit names, no files but in the data and output folders. "
    f"[{sandbox.VARIABLE}]",
)


def _settings(given: tuple[str, ...]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for item in given:
        name, equals, value = item.partition("=")
        if not equals or not name:
            raise click.BadParameter(f"`{redact(item)}` is not NAME=VALUE", param_hint="--set")
        protect_value(name, value)
        found.setdefault(name, []).append(value)
    return found


def _near_file(path: Path) -> str | None:
    folder = path.parent if path.parent.is_dir() else Path()
    return did_you_mean(path.name, [p.name for p in folder.glob("*.spl*")])


def _default_data(directory: Path) -> Path:
    return directory / "data" if (directory / "data").is_dir() else Path()


_ASKING = ("getSubmissionTime", "getCompileTime")


class Watched(UserDict[str, list[str]]):
    """Values that remember which of them were asked for; they are copied in, so `read` starts empty.

    Example:
        >>> values = Watched({"a": ["1"], "b": ["2"]})
        >>> values.get("a"), values.get("c"), sorted(values.read)
        (['1'], None, ['a', 'c'])
    """

    def __init__(self, values: dict[str, list[str]]) -> None:
        super().__init__(values)
        self.read: set[str] = set()

    def __getitem__(self, name: str) -> list[str]:
        self.read.add(name)
        return super().__getitem__(name)

    def __contains__(self, name: object) -> bool:
        self.read.add(str(name))
        return super().__contains__(name)


def unread(application: Application, settings: Watched) -> list[tuple[str, list[str]]]:
    """The names of settings that nothing asks for, each with the names that something does ask for."""
    asked = set(settings.read)
    for call in _asking(application):
        name = call.arguments[0]
        if not isinstance(name, Literal):
            # What it asks for is known only when it runs.
            return []
        asked.add(str(name.value))
    return [(name, sorted(asked)) for name in settings.data if name not in asked]


def _asking(application: Application) -> list[Call]:
    parts = [part for o in application.operators for part in (*operator_parts(o), *_around(o))]
    calls = calls_of(*parts, *(function.body for function in application.functions))
    return [call for call in calls if call.function.startswith(_ASKING)]


def _around(operator: Operator) -> Iterator[Expression]:
    """The expressions beside the code of an operator: in annotations, settings and the sizes of windows."""
    for params in (operator.config, *(annotation.arguments for annotation in operator.annotations)):
        yield from (value for param in params for value in param.values)
    for window in (port.window for port in operator.inputs if port.window is not None):
        policies = filter(None, (window.eviction, window.trigger))
        yield from filter(None, (window.partition_age, *(policy.size for policy in policies)))
