"""Finds an application in Python code: `file.py:app` or `module:app`; `app` is an App or a function that makes one.

Whatever the user's code raises on the way is the user's error: the message names the exception and the line of theirs
that it passed through last.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from penstock.base.diagnostics import Diagnostic, UserError, did_you_mean
from penstock.base.modules import load_file

if TYPE_CHECKING:
    from penstock.toolkit.core.program import Program

_OURS = str(Path(__file__).parents[2])


def python_program(path: str, attribute: str, settings: dict[str, list[str]]) -> Program:
    """The program that a module or a file defines.

    Args:
        path: `file.py` or the name of a module.
        attribute: The application, or a function that makes it; empty for the only one there is.
        settings: What `--set` gave; a function is called with what is given for its parameters.

    Raises:
        UserError: There is no such application, or the user's code fails.
    """
    module = _load_file(Path(path)) if path.endswith(".py") else _load_module(path)
    app = _find_app(module, attribute, path)
    if not _is_app(app) and callable(app):
        app = _call_factory(app, f"{path}:{attribute}", settings)
    if not _is_app(app):
        what = f"gives `{app!r}`" if callable(getattr(module, attribute, None)) else f"is `{app!r}`"
        raise UserError(f"`{path}:{attribute}` {what}, not a penstock.App")
    return app.program()  # type: ignore[no-any-return] # checked to be an App just now


def _is_app(value: Any) -> bool:
    from penstock.api.application import App

    return isinstance(value, App)


def _find_app(module: ModuleType, attribute: str, path: str) -> Any:
    if attribute:
        if not hasattr(module, attribute):
            raise UserError(f"`{path}` has no `{attribute}`", hint=_meant(module, attribute))
        return getattr(module, attribute)
    apps = {name: value for name, value in vars(module).items() if _is_app(value)}
    if len(apps) != 1:
        which = f"`{path}` defines {len(apps)} applications"
        raise UserError(which, hint=f"say which one: {path}:{next(iter(apps), 'app')}")
    return next(iter(apps.values()))


def _meant(module: ModuleType, attribute: str) -> str | None:
    """The nearest name of the module's own; if none is near, those of its applications."""
    own = {
        name: value
        for name, value in vars(module).items()
        if _is_app(value) or (inspect.isfunction(value) and value.__module__ == module.__name__)
    }
    apps = ", ".join(f"`{name}`" for name, value in own.items() if _is_app(value))
    return did_you_mean(attribute, own) or (f"its applications are {apps}" if apps else None)


def _call_factory(factory: Callable[..., Any], what: str, settings: dict[str, list[str]]) -> Any:
    """Call a function that makes an application with the `--set` values that its parameters ask for."""
    arguments: dict[str, Any] = {}
    parameters = inspect.signature(factory).parameters
    for name in settings.keys() - parameters.keys():
        # It may be a submission-time value instead, but hardly one that is spelled like a parameter.
        if hint := did_you_mean(name, parameters):
            raise UserError(f"`{what}` has no parameter `{name}`", hint=hint)
    for name, parameter in parameters.items():
        if name in settings:
            arguments[name] = _argument(parameter, settings[name][-1])
        elif parameter.default is parameter.empty and parameter.kind not in _VARIABLE:
            raise UserError(f"`{what}` needs a value for `{name}`", hint=f"add --set {name}=VALUE")
    with _users_code(f"`{what}` fails"):
        return factory(**arguments)


def _argument(parameter: inspect.Parameter, text: str) -> object:
    """The text as a value of the type that the parameter's default, or else its annotation, has."""
    written = parameter.annotation if parameter.default is parameter.empty else type(parameter.default)
    kind = written if isinstance(written, str) else written.__name__
    convert = _CONVERSIONS.get(kind, str)
    try:
        return convert(text)
    except (ValueError, KeyError):
        raise UserError(f"`--set {parameter.name}={text}`: `{text}` is not {kind}") from None


_CONVERSIONS: dict[str, Callable[[str], object]] = {
    "bool": {"true": True, "false": False}.__getitem__,
    "int": int,
    "float": float,
}
_VARIABLE = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def _load_module(name: str) -> ModuleType:
    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        with _users_code(f"`{name}` cannot be imported"):
            return importlib.import_module(name)
    finally:
        sys.path.remove(here)


def _load_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise UserError(f"there is no file `{path}`")
    # So that the application's own modules, and later its workers, find what stands beside it.
    sys.path.insert(0, str(path.parent.resolve()))
    with _users_code(f"`{path}` cannot be imported"):
        return load_file(path, path.stem)


@contextmanager
def _users_code(failure: str) -> Iterator[None]:
    """Turn what the user's code raises into a message that says where; it may also try to end the process."""
    try:
        yield
    except (UserError, KeyboardInterrupt):
        raise
    except ModuleNotFoundError as error:
        raise UserError(f"{failure}: there is no module `{error.name}`") from None
    except (Exception, SystemExit) as error:
        from penstock.api.spans import failure_span

        why = error.msg if isinstance(error, SyntaxError) else error
        message = f"{failure}: {type(error).__name__}: {why}"
        hint = did_you_mean(error.name, dir(error.obj)) if isinstance(error, AttributeError) and error.name else None
        raise UserError(Diagnostic(message=message, span=failure_span(error, _is_theirs), hint=hint)) from error


def _is_theirs(file: str) -> bool:
    return not file.startswith((_OURS, "<frozen")) and file != importlib.__file__
