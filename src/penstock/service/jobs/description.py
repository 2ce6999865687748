"""The description of a template: what the service looks at of its graph.

The graph is found by a process of its own (`penstock explain --json`): a program may be wrong, endless or hostile, and
Python programs run as they are read.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from penstock.base.diagnostics import PenstockError, UserError, did_you_mean
from penstock.expr.environment import Environment
from penstock.expr.evaluate import Evaluator
from penstock.ir.codec import from_json
from penstock.ir.graph import Application
from penstock.ir.types import parse_schema
from penstock.service.jobs.submission import Submission, TemplateSpec
from penstock.toolkit.adapters.export import DEFINITION as EXPORT
from penstock.toolkit.adapters.import_ import DEFINITION as IMPORT
from penstock.toolkit.adapters.import_ import Offer, Wanted, offer_of, wanted_by

DESCRIBE_SECONDS = 120.0
"""The time that reading a program may take."""


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
    process = subprocess.Popen(
        command,
        cwd=code,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        out, err = process.communicate(timeout=DESCRIBE_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise UserError(f"template `{template.id}` took more than {DESCRIBE_SECONDS:g} s to be read") from None
    if process.returncode:
        said = err.decode(errors="replace").replace(f"{code}/", "").strip()
        raise UserError(f"template `{template.id}` does not compile: {said.removeprefix('error: ')[-4000:]}")
    return describe_application(from_json(json.loads(out)), template.settings)


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
