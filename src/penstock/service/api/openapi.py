"""The OpenAPI description of the API."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

Schema = dict[str, Any]


def _object(properties: Schema, required: tuple[str, ...] = (), more: bool | Schema = False) -> Schema:
    found: Schema = {"type": "object", "properties": properties, "additionalProperties": more}
    return found | ({"required": list(required)} if required else {})


_NAME: Schema = {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$"}
_RANK: Schema = {"type": "integer", "minimum": 1, "maximum": 1_000_000}
_AMOUNT: Schema = {"type": "number", "minimum": 0, "maximum": 1e12}
_AMOUNTS: Schema = {"type": "object", "additionalProperties": _AMOUNT}
_TEXTS: Schema = {"type": "array", "items": {"type": "string", "minLength": 1}}
_ABOVE_ZERO: Schema = {"type": "number", "exclusiveMinimum": 0, "maximum": 1e12}
_FOLDER: Schema = {"type": "string", "pattern": "^/[^\u0000]*$"}
_ANY: Schema = {}
_APP = r"^[^/\\:-][^/\\:]*(/[^/\\:-][^/\\:]*)*\.(spl|splmm|py)(:.+)?$"

_TEMPLATE = _object(
    {
        "id": _NAME,
        "app": {"type": "string", "pattern": _APP},
        "main": {"type": "string"},
        "toolkits": _TEXTS,
        "set": {"type": "object", "additionalProperties": {"type": "string"}},
        "data": _FOLDER,
        "min_mips": _AMOUNT,
        "max_mips": _ABOVE_ZERO,
        "mips_per_tps": _ABOVE_ZERO,
        "weight": _AMOUNT,
        "channels": {"type": "integer", "minimum": 1},
        "batch": {"type": "integer", "minimum": 1},
        "continuous": {"type": "boolean"},
    },
    ("app",),
)
_SUBMISSION = _object(
    {
        "name": _NAME,
        "rank": _RANK,
        "required": {"type": "boolean"},
        "weight": _AMOUNT,
        "min_mips": _AMOUNT,
        "max_mips": _ABOVE_ZERO,
        "values": {"type": "object", "additionalProperties": {"type": "object"}},
        "tags": _TEXTS,
        "out": _FOLDER,
        "templates": {"type": "array", "items": _TEMPLATE, "minItems": 1},
        "files": {"type": "object", "additionalProperties": {"type": "string"}},
    },
    ("name", "templates", "files"),
)
_JOB = _object({"id": {"type": "string"}, "state": {"type": "string"}, "reason": {"type": "string"}}, ("id",), True)
_PLAN = _object({"importance": {"type": "number"}, "grants": {"type": "object"}}, ("importance", "grants"), True)
_CAPACITY = _object({"mips": {"type": "object", "additionalProperties": {"type": "number"}}}, ("mips",))
_ERROR = _object(
    {
        "error": _object(
            {"message": {"type": "string"}, "hint": {"type": ["string", "null"]}, "errors": {"type": "array"}},
            ("message", "hint", "errors"),
        )
    },
    ("error",),
)

_JOB_ID: Schema = {"name": "job", "in": "path", "required": True, "schema": {"type": "string"}}


def _whole(name: str, most: int) -> Schema:
    return {"name": name, "in": "query", "schema": {"type": "integer", "minimum": 0, "maximum": most}}


def _json(schema: Schema) -> Schema:
    return {"application/json": {"schema": schema}}


def _operation(
    summary: str,
    schema: Schema | None,
    *,
    status: int = 200,
    body: Schema | None = None,
    parameters: tuple[Schema, ...] = (),
    text: str = "text/plain",
    refusals: tuple[int, ...] = (),
) -> Schema:
    content = {text: {"schema": {"type": "string"}}} if schema is None else _json(schema)
    statuses = sorted(
        {400, 401, 403, 408, 413, 415, 421, 503, *refusals} if body is not None else {400, 401, 421, 503, *refusals}
    )
    answers: Schema = {str(status): {"description": "It is done.", "content": content}}
    answers |= {str(code): {"description": _REFUSALS[code], "content": _json(_ERROR)} for code in statuses}
    found: Schema = {"summary": summary, "parameters": list(parameters), "responses": answers}
    return found | ({"requestBody": {"required": True, "content": _json(body)}} if body is not None else {})


_REFUSALS = {
    400: "The request is wrong; the answer says where.",
    401: "The token is missing or wrong.",
    403: "The request comes from a page of another origin.",
    404: "There is no such thing.",
    408: "The request took too long to arrive.",
    409: "The state of the job does not allow it.",
    413: "The request is too large.",
    415: "The request is no JSON.",
    421: "The request is for another host.",
    503: "The service cannot do that now; try again.",
}


def _of_job(summary: str, *, status: int = 200, body: Schema | None = None) -> Schema:
    return _operation(summary, _JOB, status=status, body=body, parameters=(_JOB_ID,), refusals=(403, 404, 409))


_LIST: Schema = {"type": "array", "items": {"type": "object"}}

_PATHS: Schema = {
    "/api/health": {"get": _operation("Whether the service works.", _object({"status": _ANY, "jobs": _ANY}))},
    "/api/jobs": {
        "get": _operation("All jobs.", {"type": "array", "items": _JOB}),
        "post": _operation("Submit a job.", _JOB, status=201, body=_SUBMISSION, refusals=(409,)),
    },
    "/api/jobs/{job}": {
        "get": _operation("One job in full.", _JOB, parameters=(_JOB_ID,), refusals=(404,)),
        "delete": _of_job("Forget a job that is over, with its folder; its name is free again."),
    },
    "/api/jobs/{job}/cancel": {"post": _of_job("Cancel a job.", status=202)},
    "/api/jobs/{job}/suspend": {"post": _of_job("Suspend a job.", status=202)},
    "/api/jobs/{job}/resume": {"post": _of_job("Let a job run again.", status=202)},
    "/api/jobs/{job}/weight": {"put": _of_job("Change a weight.", body=_object({"weight": _AMOUNT}, ("weight",)))},
    "/api/jobs/{job}/rank": {
        "put": _of_job("Change a rank.", body=_object({"rank": _RANK, "required": {"type": "boolean"}}, ("rank",)))
    },
    "/api/jobs/{job}/log": {
        "get": _operation(
            "The end of what a job has printed.",
            None,
            parameters=(_JOB_ID, _whole("bytes", 1 << 20)),
            refusals=(404,),
        )
    },
    "/api/decisions": {"get": _operation("The latest decisions.", _LIST, parameters=(_whole("most", 1_000),))},
    "/api/decisions/{number}": {
        "get": _operation(
            "One decision.",
            _object({}, (), True),
            parameters=({"name": "number", "in": "path", "required": True, "schema": {"type": "integer"}},),
            refusals=(404,),
        )
    },
    "/api/events": {
        "get": _operation("What has happened.", _LIST, parameters=(_whole("after", 2**53), _whole("most", 1_000)))
    },
    "/api/capacity": {
        "get": _operation("What the nodes give.", _CAPACITY),
        "put": _operation(
            "Change it.", _CAPACITY, body=_object({"mips": _AMOUNTS | {"minProperties": 1}}, ("mips",)), refusals=(404,)
        ),
    },
    "/api/what-if": {
        "post": _operation(
            "The plan if something were different; nothing is changed.",
            _PLAN,
            body=_object(
                {"weights": _AMOUNTS, "ranks": {"type": "object", "additionalProperties": _RANK}, "mips": _AMOUNTS}
            ),
            refusals=(404, 409),
        )
    },
    "/metrics": {"get": _operation("Metrics for Prometheus.", None)},
    "/api/openapi.json": {"get": _operation("This description.", _object({}, (), True))},
}

OPENAPI: Schema = {
    "openapi": "3.1.0",
    "info": {"title": "penstock serve", "version": version("penstock")},
    "paths": _PATHS,
    "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
    "security": [{}, {"token": []}],
}
"""The description, as `/api/openapi.json` gives it."""
