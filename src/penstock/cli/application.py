"""What every subcommand that takes APP shares: its options, and how APP is found and compiled."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

import click

from penstock.diagnostics import UserError, did_you_mean

if TYPE_CHECKING:
    from penstock.expr.environment import Environment
    from penstock.toolkit.program import Program

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class AppArguments:
    """APP and the options that go with it.

    Attributes:
        app: A `.spl` file, or `module:app` or `file.py:app`.
        main: The main composite, where there are several.
        toolkits: Folders of SPL and Python toolkits.
        data: What relative file names are resolved against.
        settings: Submission-time values, each name with all the values given for it.
    """

    app: str
    main: str | None
    toolkits: tuple[Path, ...]
    data: Path | None
    settings: dict[str, list[str]]

    def program(self) -> Program:
        """Find and compile the application."""
        if self.app.endswith(".spl"):
            return self._compile_spl()
        if self.app.endswith(".py"):
            return _python_program(self.app, "", self.settings)
        path, colon, attribute = self.app.rpartition(":")
        if not colon or not path:
            raise UserError(f"`{self.app}` is not an application", hint="give FILE.spl, FILE.py:app or MODULE:app")
        return _python_program(path, attribute, self.settings)

    def _compile_spl(self) -> Program:
        from penstock.lang import compile_file

        if not Path(self.app).is_file():
            raise UserError(f"there is no file `{self.app}`", hint=_near_file(Path(self.app)))
        return compile_file(Path(self.app), main=self.main, toolkits=self.toolkits)

    def environment(self, program: Program, out: Path | None = None) -> Environment:
        """The surroundings that these options describe."""
        from penstock.expr.environment import Environment

        data = self.data if self.data is not None else _default_data(program.directory)
        if not data.is_dir():
            raise UserError(f"there is no data folder `{data}`")
        return Environment(
            submission_values=self.settings,
            data_directory=data,
            output_directory=out if out is not None else data,
            application_directory=program.directory,
        )


def takes_application(function: F) -> F:
    """Give a command the argument APP and its options, as one `AppArguments` named `arguments`."""

    def wrapper(
        app: str,
        main: str | None,
        toolkit: tuple[Path, ...],
        data: Path | None,
        setting: tuple[str, ...],
        **rest: Any,
    ) -> Any:
        arguments = AppArguments(app=app, main=main, toolkits=toolkit, data=data, settings=_settings(setting))
        return function(arguments=arguments, **rest)

    wrapper.__name__, wrapper.__doc__ = function.__name__, function.__doc__
    options = [
        click.argument("app"),
        click.option("--main", metavar="COMPOSITE", help="The main composite, where a file has several."),
        click.option(
            "--toolkit",
            multiple=True,
            type=click.Path(path_type=Path),
            metavar="DIR",
            help="A folder of SPL and Python toolkits; may be given several times.",
        ),
        click.option(
            "--data",
            type=click.Path(path_type=Path),
            metavar="DIR",
            help="What relative file names are resolved against. Default: the application's `data` folder, or here.",
        ),
        click.option(
            "--set",
            "setting",
            multiple=True,
            metavar="NAME=VALUE",
            help="A submission-time value; may be given several times.",
        ),
    ]
    command: Any = wrapper
    command.__click_params__ = getattr(function, "__click_params__", [])
    for option in reversed(options):
        command = option(command)
    return command  # type: ignore[no-any-return] # click's decorators keep what they decorate


def _settings(given: tuple[str, ...]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for item in given:
        name, equals, value = item.partition("=")
        if not equals or not name:
            raise click.BadParameter(f"`{item}` is not NAME=VALUE", param_hint="--set")
        found.setdefault(name, []).append(value)
    return found


def _near_file(path: Path) -> str | None:
    folder = path.parent if path.parent.is_dir() else Path()
    return did_you_mean(path.name, [p.name for p in folder.glob("*.spl")])


def _default_data(directory: Path) -> Path:
    return directory / "data" if (directory / "data").is_dir() else Path()


def _python_program(path: str, attribute: str, settings: dict[str, list[str]]) -> Program:
    module = _load_file(Path(path)) if path.endswith(".py") else _load_module(path)
    app = _find_app(module, attribute, path)
    if not _is_app(app) and callable(app):
        app = _call_factory(app, settings)
    if not _is_app(app):
        raise UserError(f"`{path}:{attribute}` is a {type(app).__name__}, not a penstock.App")
    return app.program()  # type: ignore[no-any-return] # checked to be an App just now


def _is_app(value: Any) -> bool:
    from penstock.api.application import App

    return isinstance(value, App)


def _find_app(module: ModuleType, attribute: str, path: str) -> Any:
    if attribute:
        if not hasattr(module, attribute):
            hint = did_you_mean(attribute, [n for n in vars(module) if not n.startswith("_")])
            raise UserError(f"`{path}` has no `{attribute}`", hint=hint)
        return getattr(module, attribute)
    apps = {name: value for name, value in vars(module).items() if _is_app(value)}
    if len(apps) != 1:
        which = f"`{path}` defines {len(apps)} applications"
        raise UserError(which, hint=f"say which one: {path}:{next(iter(apps), 'app')}")
    return next(iter(apps.values()))


def _call_factory(factory: Callable[..., Any], settings: dict[str, list[str]]) -> Any:
    """Call a function that makes an application with the `--set` values that its parameters ask for."""
    arguments: dict[str, Any] = {}
    for name, parameter in inspect.signature(factory).parameters.items():
        if name in settings:
            text = settings[name][-1]
            convert = type(parameter.default) if isinstance(parameter.default, int | float) else str
            try:
                arguments[name] = convert(text)
            except ValueError:
                raise UserError(f"`--set {name}={text}`: `{text}` is not {convert.__name__}") from None
    return factory(**arguments)


def _load_module(name: str) -> ModuleType:
    sys.path.insert(0, str(Path.cwd()))
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise UserError(f"there is no module `{error.name}`") from None
    finally:
        sys.path.pop(0)


def _load_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise UserError(f"there is no file `{path}`")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # So that the application's own modules, and later its workers, find what stands beside it.
    sys.path.insert(0, str(path.parent.resolve()))
    sys.modules[path.stem] = module
    try:
        spec.loader.exec_module(module)
    except UserError:
        raise
    except Exception as error:
        raise UserError(f"`{path}` cannot be imported: {type(error).__name__}: {error}") from error
    return module
