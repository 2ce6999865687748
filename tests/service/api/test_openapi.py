"""The description of the API against what the service does with requests that nobody thought of."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from penstock.service.api.openapi import OPENAPI
from service.running_service import Api, running_service, submission

OPERATIONS = [(path, method) for path, found in OPENAPI["paths"].items() for method in found]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
KEYS = st.sampled_from(
    (
        *("name", "rank", "required", "weight", "min_mips", "max_mips", "values", "tags", "out", "templates", "files"),
        *("mips", "weights", "ranks", "id", "app", "main", "toolkits", "set", "data", "channels", "batch"),
    )
)
BODIES = JSON | st.dictionaries(
    KEYS, JSON | st.dictionaries(st.sampled_from(["local", "worker", "t"]), JSON), max_size=5
)
NAMES = st.text(min_size=1, max_size=30) | st.sampled_from(
    ["worker", "..", ".", "%2e%2e", "a/../b", "\0", "worker/log"]
)


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with running_service(tmp_path_factory.mktemp("openapi") / "home") as (api, _):
        assert api.ask("POST", "/api/jobs", submission("worker"))[0] == 201
        yield api


def world(api: Api) -> list[Any]:
    """What only a request can change."""
    jobs = [
        (job["id"], job["rank"], job["required"], job["weight"], job["wanted"])
        for job in api.ask("GET", "/api/jobs")[1]
    ]
    return [jobs, api.ask("GET", "/api/capacity")[1]]


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(OPERATIONS), NAMES, BODIES, st.dictionaries(st.sampled_from(["most", "after", "bytes"]), st.text())
)
@example(("/api/jobs/{job}/rank", "put"), "worker", {"rank": 2.0}, {})
@example(("/api/what-if", "post"), "worker", {"ranks": {"worker": 10**30}}, {})
@example(("/api/jobs/{job}/weight", "put"), "worker", {"weight": float("nan")}, {})
def test_every_answer_is_described_and_a_refusal_changes_nothing(
    api: Api, operation: tuple[str, str], name: str, body: object, query: dict[str, str]
) -> None:
    path, method = operation
    if path == "/api/jobs/{job}/cancel":
        name = f"no-{name}"
    target = path.replace("{job}", quote(name, safe="", errors="replace")).replace(
        "{number}", quote(name, safe="", errors="replace")
    )
    asked = "&".join(f"{key}={quote(value, safe='', errors='replace')}" for key, value in query.items())
    before = world(api)
    described = OPENAPI["paths"][path][method]
    status, answer = api.ask(
        method.upper(), f"{target}?{asked}" if asked else target, body if "requestBody" in described else None
    )
    known = {*described["responses"], "404", "405"} if "{" in path else described["responses"]
    assert str(status) in known, answer
    if status >= 400:
        assert answer["error"]["message"]
        assert world(api) == before
    assert api.ask("GET", "/api/health")[0] == 200


def test_a_method_that_is_not_there_is_refused_with_those_that_are(api: Api) -> None:
    for path, operations in OPENAPI["paths"].items():
        connection = api.connect()
        connection.request("TRACE", re.sub("{.*?}", "1", path))
        answer = connection.getresponse()
        told = {method.lower() for method in (answer.getheader("Allow") or "").split(", ")}
        assert (answer.status, told - {"head"}) == (405, set(operations))
        connection.close()
