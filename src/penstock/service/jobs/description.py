"""The description of a template: what the service looks at of its graph.

The graph is found by a process of its own (`penstock explain --json`): a program may be wrong, endless or hostile, and
Python programs run as they are read.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from penstock.base.diagnostics import PenstockError, UserError, did_you_mean
from penstock.expr.environment import Environment
from penstock.expr.evaluate import Evaluator
from penstock.ir.codec import from_json
from penstock.ir.graph import Application
from penstock.ir.types import parse_schema
from penstock.service.jobs.process import environment_for_code
from penstock.service.jobs.submission import Submission, TemplateSpec
from penstock.toolkit.adapters.export import DEFINITION as EXPORT
from penstock.toolkit.adapters.import_ import DEFINITION as IMPORT
from penstock.toolkit.adapters.import_ import Offer, Wanted, offer_of, wanted_by

DESCRIBE_SECONDS = 120.0
"""The time that reading a program may take."""

MOST_PRINTED_BYTES = 64 << 20
"""What a program may write into one file while it is read."""


def app_arguments(template: TemplateSpec, code: Path) -> list[str]:
    """The arguments of a command for a template whose package lies in a folder."""
    arguments = [str(code / template.app)]
    if template.main is not None:
        arguments += ["--main", template.main]
    for toolkit in template.toolkits:
        arguments += ["--toolkit", str(code / toolkit)]
    if template.data is not None:
        arguments += ["--data", template.data]
    for name, value in template.settings.items():
        arguments += ["--set", f"{name}={value}"]
    return arguments


def describe(template: TemplateSpec, code: Path) -> dict[str, Any]:
    """The description of a template whose package lies in a folder.

    Raises:
        UserError: Its program does not compile, or takes too long to be read.
    """
    command = [sys.executable, "-m", "penstock.cli", "explain", *app_arguments(template, code), "--json"]
    status, out, err = _read(command, code, f"template `{template.id}`")
    if status:
        said = err.decode(errors="replace").replace(f"{code}/", "").strip()
        raise UserError(f"template `{template.id}` does not compile: {said.removeprefix('error: ')[-4000:]}")
    try:
        application = from_json(json.loads(out))
    except (ValueError, KeyError, TypeError, RecursionError):
        hint = "a program that prints while it is read spoils what is read of it"
        raise UserError(f"template `{template.id}` cannot be read", hint=hint) from None
    return describe_application(application, template.settings)


def _read(command: Sequence[str], code: Path, what: str) -> tuple[int, bytes, bytes]:
    """Run a command in a folder: its status, and what it has printed.

    It prints into files, not pipes: a process that it leaves behind could hold a pipe open for ever.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen(
            command,
            cwd=code,
            env=environment_for_code(),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            start_new_session=True,
        )
        with suppress(ProcessLookupError):
            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (MOST_PRINTED_BYTES, MOST_PRINTED_BYTES))
        try:
            status = process.wait(DESCRIBE_SECONDS)
        except subprocess.TimeoutExpired:
            raise UserError(f"{what} took more than {DESCRIBE_SECONDS:g} s to be read") from None
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        out.seek(0)
        err.seek(0)
        return status, out.read(MOST_PRINTED_BYTES), err.read(MOST_PRINTED_BYTES)


def describe_application(application: Application, settings: Mapping[str, str]) -> dict[str, Any]:
    """The description of a graph.

    Example:
        >>> from penstock import App
        >>> app = App("Numbers")
        >>> app.from_rows([(1,)], "int32 x", name="Rows").for_each(lambda t: None, name="Sink")
        >>> found = describe_application(app.program().application, {})
        >>> found["application"], found["sources"], found["streams"], found["edges"]
        ('Numbers', ['Rows'], {'Rows': ['Rows', 0]}, [['Rows', 'Sink', 'Rows']])
    """
    environment = Environment(submission_values={name: [value] for name, value in settings.items()})
    evaluator = Evaluator(functions=application.functions, environment=environment)
    return {
        "application": application.name,
        "operators": [[operator.id, operator.kind] for operator in application.operators],
        "sources": [operator.id for operator in application.operators if not operator.inputs],
        "streams": {p.stream: [o.id, i] for o in application.operators for i, p in enumerate(o.outputs)},
        "edges": [[one, other, stream] for one, other, stream, _ in application.edges()],
        "exports": [
            _export(offer_of(o, application.name, evaluator), o.inputs[0].streams)
            for o in application.operators
            if o.kind == EXPORT.kind
        ],
        "imports": [_import(wanted_by(o, evaluator), o.id) for o in application.operators if o.kind == IMPORT.kind],
    }


def _export(offer: Offer, streams: tuple[str, ...]) -> dict[str, Any]:
    try:
        properties = json.loads(json.dumps(dict(offer.properties), default=sorted))
    except (TypeError, ValueError):
        properties = {}
    return {
        "streams": list(streams),
        "application": offer.application,
        "schema": str(offer.schema),
        "stream_id": offer.stream_id,
        "properties": properties,
    }


def _import(wanted: Wanted, operator: str) -> dict[str, Any]:
    return {
        "operator": operator,
        "schema": str(wanted.schema),
        "stream_id": wanted.stream_id,
        "application": wanted.application,
        "subscription": wanted.subscription,
    }


def is_connected(export_: Mapping[str, Any], import_: Mapping[str, Any]) -> bool:
    """Whether what one job exports may be what another imports."""
    offer = Offer(
        application=export_["application"],
        schema=parse_schema(export_["schema"]),
        stream_id=export_["stream_id"],
        properties=export_["properties"],
    )
    wanted = Wanted(
        schema=parse_schema(import_["schema"]),
        stream_id=import_["stream_id"],
        application=import_["application"],
        subscription=import_["subscription"],
        filters=False,
    )
    try:
        return wanted.may_take(offer)
    except (PenstockError, TypeError, KeyError):
        return False


def check_streams(submission: Submission, descriptions: Mapping[str, Mapping[str, Any]]) -> None:
    """Refuse values of streams that are not there, and templates that do not exchange the same streams.

    Raises:
        UserError: A name is wrong, or templates differ.
    """
    first, *others = submission.templates
    for name in submission.values:
        for template in submission.templates:
            known = descriptions[template.id]["streams"]
            if name not in known:
                hint = did_you_mean(name, known) or f"its streams are {', '.join(list(known)[:20])}"
                raise UserError(f"template `{template.id}` has no stream `{name}` that could have a value", hint=hint)
    for other in others:
        for what in ("exports", "imports"):
            if _exchanged(descriptions[first.id], what) != _exchanged(descriptions[other.id], what):
                message = f"templates `{first.id}` and `{other.id}` differ in their {what}"
                raise UserError(message, hint="templates of one job must look alike to other jobs")


def _exchanged(description: Mapping[str, Any], what: str) -> list[str]:
    inner = {"streams", "operator"}
    return sorted(json.dumps({k: v for k, v in x.items() if k not in inner}, sort_keys=True) for x in description[what])
