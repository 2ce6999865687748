"""Functions that ask about the application: its submission, its place, its channel, and where a call stands."""

from __future__ import annotations

import os
import re
from pathlib import Path

from penstock.base.diagnostics import Span, UserError
from penstock.base.secret_references import reveal_named
from penstock.expr.environment import Environment
from penstock.expr.errors import EvaluationError
from penstock.expr.functions.registry import function


def _one(values: list[str]) -> str:
    return values[-1]


@function("rstring getSubmissionTimeValue(rstring name)", needs_environment=True)
def submission_value(environment: Environment, name: str) -> str:
    """The value that was given for a name when the application was submitted."""
    return reveal_named(name, _one(_submitted(environment, name)))


@function("rstring getSubmissionTimeValue(rstring name, rstring otherwise)", needs_environment=True)
def submission_value_or(environment: Environment, name: str, otherwise: str) -> str:
    """The value that was given for a name when the application was submitted, or another one."""
    return reveal_named(name, _one(environment.submission_values.get(name) or [otherwise]))


@function("list<rstring> getSubmissionTimeListValue(rstring name)", needs_environment=True)
def submission_list(environment: Environment, name: str) -> list[str]:
    """The values that were given for a name: several `--set`, or one with commas."""
    return [reveal_named(name, value) for value in _several(_submitted(environment, name))]


@function("list<rstring> getSubmissionTimeListValue(rstring name, list<rstring> otherwise)", needs_environment=True)
def submission_list_or(environment: Environment, name: str, otherwise: list[str]) -> list[str]:
    """The values that were given for a name, or others."""
    found = environment.submission_values.get(name)
    return [reveal_named(name, value) for value in _several(found)] if found else list(otherwise)


def _submitted(environment: Environment, name: str) -> list[str]:
    found = environment.submission_values.get(name)
    if not found:
        raise UserError(f"no value was given for the submission-time value `{name}`", hint=f"add --set {name}=VALUE")
    return found


def _several(values: list[str]) -> list[str]:
    return values[0].split(",") if len(values) == 1 else list(values)


@function("rstring getCompileTimeValue(rstring name)", needs_environment=True)
def compile_value(environment: Environment, name: str) -> str:
    """The value that was given for a name when the application was compiled."""
    return _one(_compiled(environment, name))


@function("rstring getCompileTimeValue(rstring name, rstring otherwise)", needs_environment=True)
def compile_value_or(environment: Environment, name: str, otherwise: str) -> str:
    """The value that was given for a name when the application was compiled, or another one."""
    return _one(environment.compile_values.get(name) or [otherwise])


@function("list<rstring> getCompileTimeListValue(rstring name)", needs_environment=True)
def compile_list(environment: Environment, name: str) -> list[str]:
    """The values that were given for a name when the application was compiled."""
    return _several(_compiled(environment, name))


@function("list<rstring> getCompileTimeListValue(rstring name, list<rstring> otherwise)", needs_environment=True)
def compile_list_or(environment: Environment, name: str, otherwise: list[str]) -> list[str]:
    """The values that were given for a name when the application was compiled, or others."""
    found = environment.compile_values.get(name)
    return _several(found) if found else list(otherwise)


def _compiled(environment: Environment, name: str) -> list[str]:
    found = environment.compile_values.get(name)
    if not found:
        raise UserError(f"no value was given for the compile-time value `{name}`", hint=f"add --set {name}=VALUE")
    return found


@function("rstring dataDirectory()", needs_environment=True)
def data_directory(environment: Environment) -> str:
    """The folder that relative file names mean."""
    return str(environment.data_directory)


@function("rstring getApplicationDir()", needs_environment=True)
def application_directory(environment: Environment) -> str:
    """The folder of the application's text."""
    return str(environment.application_directory)


@function(
    "stateful int32 getChannel()",
    "stateful int32 getLocalChannel()",
    needs_environment=True,
)
def channel(environment: Environment) -> int:
    """The channel of the parallel region that this runs on, from 0."""
    return environment.channel[0]


@function(
    "stateful int32 getMaxChannels()",
    "stateful int32 getLocalMaxChannels()",
    needs_environment=True,
)
def channels(environment: Environment) -> int:
    """The number of channels of the parallel region that this runs in."""
    return environment.channel[1]


@function("stateful list<int32> getAllChannels()", needs_environment=True)
def all_channels(environment: Environment) -> list[int]:
    """The channel of each parallel region that this runs in, the innermost first."""
    return [environment.channel[0]]


@function("stateful list<int32> getAllMaxChannels()", needs_environment=True)
def all_channel_counts(environment: Environment) -> list[int]:
    """The number of channels of each parallel region that this runs in, the innermost first."""
    return [environment.channel[1]]


@function("stateful uint32 getRelaunchCount()", needs_environment=True)
def relaunch_count(environment: Environment) -> int:
    """How often the application was started again from a checkpoint."""
    return environment.relaunch_count


@function("stateful boolean isShutdown()", needs_environment=True)
def is_shutdown(environment: Environment) -> bool:
    """Whether the application is being stopped."""
    return environment.is_shutdown


@function("stateful void block(float64 seconds)", needs_environment=True)
def block(environment: Environment, seconds: float) -> None:
    """Let time pass."""
    if seconds > 0:
        environment.clock.advance_to(environment.clock.now_ns + round(seconds * 1e9))


@function("stateful rstring getEnvironmentVariable(rstring name, mutable boolean isSet)")
def environment_variable_if_set(name: str, is_set: bool) -> tuple[str, bool]:
    """The value of a variable of the process, and whether it is set; empty if not."""
    return os.environ.get(name, ""), name in os.environ


@function("stateful rstring getEnvironmentVariable(rstring name)")
def environment_variable(name: str) -> str:
    """The value of an environment variable, or an empty string."""
    return os.environ.get(name, "")


@function("stateful rstring getEnvironmentVariable(rstring name, rstring otherwise)")
def environment_variable_or(name: str, otherwise: str) -> str:
    """The value of an environment variable, or another one."""
    return os.environ.get(name, otherwise)


def _written(span: Span | None) -> Span:
    if span is None:
        raise EvaluationError("a call that was not written in a file has no place in one")
    return span


@function("rstring getThisFileName()", needs_span=True)
def this_file_name(span: Span | None) -> str:
    """The name of the file that this call is written in."""
    return Path(_written(span).source.path).name


@function("rstring getThisFileDir()", needs_span=True)
def this_file_directory(span: Span | None) -> str:
    """The folder, from the root on, of the file that this call is written in."""
    return str(Path(_written(span).source.path).absolute().parent)


@function("rstring getThisFilePath()", needs_span=True)
def this_file_path(span: Span | None) -> str:
    """The path, from the root on, of the file that this call is written in."""
    return str(Path(_written(span).source.path).absolute())


_NAMESPACE = re.compile(r"^\s*namespace\s+([\w.]+)\s*;", re.MULTILINE)


@function("rstring getThisToolkitDir()", needs_span=True)
def this_toolkit_directory(span: Span | None) -> str:
    """The folder of the toolkit that this call is written in: where the folders of its namespaces lie."""
    source = _written(span).source
    folder = Path(source.path).absolute().parent
    declared = _NAMESPACE.search(source.text)
    parts = declared[1].split(".") if declared else []
    if parts and folder.name == ".".join(parts):
        return str(folder.parent)
    return str(folder.parents[len(parts) - 1]) if parts and list(folder.parts[-len(parts) :]) == parts else str(folder)


@function("int32 getThisLine()", needs_span=True)
def this_line(span: Span | None) -> int:
    """The line that this call is written on."""
    return _written(span).line
