"""The API as its users and its enemies meet it: over a socket, with jobs that are real processes."""

from __future__ import annotations

import socket
import sqlite3
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.base.diagnostics import UserError
from penstock.service.api.app import MOST_LISTED
from penstock.service.api.guard import MOST_BODY_BYTES, MOST_PACKAGE_BYTES
from penstock.service.api.openapi import OPENAPI
from penstock.service.api.server import MOST_REQUESTS, Address
from penstock.service.service import Service
from service.running_service import Api, running_service, submission

PATIENCE_SECONDS = 90.0


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Api, Service]]:
    with running_service(tmp_path_factory.mktemp("service") / "home") as found:
        yield found


@pytest.fixture(scope="module")
def api(running: tuple[Api, Service]) -> Api:
    return running[0]


def until(what: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.fixture(scope="module")
def job(api: Api) -> str:
    """A job that runs."""
    status, answer = api.ask("POST", "/api/jobs", submission("worker", rank=2))
    assert (status, answer["state"]) == (201, "queued"), answer
    until(lambda: api.state("worker") == "running")
    return "worker"


def test_a_job_is_submitted_suspended_resumed_and_changed(api: Api, job: str) -> None:
    assert api.ask("POST", f"/api/jobs/{job}/suspend")[0] == 202
    until(lambda: api.state(job) == "suspended")
    assert api.ask("POST", f"/api/jobs/{job}/resume")[0] == 202
    until(lambda: api.state(job) == "running")
    assert api.ask("PUT", f"/api/jobs/{job}/weight", {"weight": 2.5})[1]["weight"] == 2.5
    assert api.ask("PUT", f"/api/jobs/{job}/rank", {"rank": 3, "required": False})[1]["rank"] == 3
    until(lambda: len(api.ask("GET", f"/api/jobs/{job}")[1]["samples"]) > 2)
    details = api.ask("GET", f"/api/jobs/{job}")[1]
    last = details["samples"][-1]
    assert last["ingest_tps"] > 0
    assert last["importance"] == pytest.approx(2.5 * last["ingest_tps"])
    assert [t["description"]["streams"] for t in details["templates"]] == [{"A": ["A", 0]}]
    assert {event["kind"] for event in details["events"]} >= {"state", "user"}
    assert api.ask("GET", f"/api/jobs/{job}/log")[0] == 200


def test_a_plan_that_is_only_asked_for_changes_nothing(api: Api, job: str) -> None:
    status, plan = api.ask("POST", "/api/what-if", {"mips": {"local": 100}})
    assert (status, plan["grants"]) == (200, {})
    assert plan["refusals"][job] == "rejected: rank 3, needs 100 mips more" or "rank 2" in plan["refusals"][job]
    assert api.ask("POST", "/api/what-if", {"weights": {job: 7}, "ranks": {job: 9}})[1]["waterline"] == 9
    assert api.ask("GET", "/api/capacity")[1] == {"mips": {"local": 1000.0}}
    assert api.state(job) == "running"


def test_capacity_that_goes_takes_the_job_with_it_and_brings_it_back(api: Api, job: str) -> None:
    assert api.ask("PUT", "/api/capacity", {"mips": {"local": 100}})[1] == {"mips": {"local": 100}}
    until(lambda: api.state(job) == "suspended")
    assert "needs 100 mips more" in api.ask("GET", f"/api/jobs/{job}")[1]["reason"]
    api.ask("PUT", "/api/capacity", {"mips": {"local": 1000}})
    until(lambda: api.state(job) == "running")
    decisions = api.ask("GET", "/api/decisions?most=5")[1]
    assert decisions[0]["id"] > decisions[-1]["id"]
    assert api.ask("GET", f"/api/decisions/{decisions[0]['id']}")[1] == decisions[0]
    assert any("decision" in event["kind"] for event in api.ask("GET", "/api/events?after=0")[1])


def test_metrics_and_health_are_there(api: Api, job: str) -> None:
    assert api.ask("GET", "/api/health")[1]["status"] == "running"
    metrics = api.ask("GET", "/metrics")[1]
    assert f'penstock_service_job_mips_allotted{{job="{job}"}}' in metrics
    assert 'penstock_service_jobs{state="running"} 1.0' in metrics


WRONG: list[tuple[str, str, object, int, str]] = [
    ("GET", "/api/jobs/nobody", None, 404, "there is no job `nobody`"),
    ("POST", "/api/jobs/nobody/cancel", None, 404, "there is no job"),
    ("PUT", "/api/jobs/nobody/weight", {"weight": 1}, 404, "there is no job"),
    ("GET", "/api/jobs/..%2f..%2fetc%2fpasswd", None, 404, "not found"),
    ("GET", "/api/jobs/../../etc/passwd/log", None, 404, "not found"),
    ("GET", "/api/jobs/%00/log", None, 404, "there is no job"),
    ("GET", "/api/decisions/999999", None, 404, "there is no decision"),
    ("GET", "/api/decisions/-1", None, 404, "there is no decision"),
    ("GET", "/api/decisions/" + "9" * 60, None, 404, "there is no decision"),
    ("GET", f"/api/events?most={MOST_LISTED + 1}", None, 400, "the parameter most is"),
    ("GET", "/api/events?after=x", None, 400, "the parameter after is `x`"),
    ("GET", "/nothing", None, 404, "not found"),
    ("DELETE", "/api/jobs", None, 405, "method not allowed"),
    ("POST", "/api/jobs", b"{", 400, "not JSON"),
    ("POST", "/api/jobs", b"\xff\xfe", 400, "the request is no JSON"),
    ("POST", "/api/jobs", b"[" * 100_000, 400, ""),
    ("POST", "/api/jobs", b'{"name": 1e999}', 400, ""),
    ("POST", "/api/jobs", [], 400, "the problem is a list"),
    ("POST", "/api/jobs", {}, 400, "the job has no templates"),
    ("POST", "/api/jobs", submission("../x"), 400, "is no name of a job"),
    ("POST", "/api/jobs", submission("-x"), 400, "is no name of a job"),
    ("POST", "/api/jobs", submission("x" * 65), 400, "is no name of a job"),
    ("POST", "/api/jobs", submission("x", files={"../../x.spl": ""}), 400, "is not in the package"),
    ("POST", "/api/jobs", submission("x", files={"/etc/x.spl": ""}), 400, "is not in the package"),
    ("POST", "/api/jobs", submission("x", files={"app.spl": "no base64!"}), 400, "is not in base64"),
    ("POST", "/api/jobs", submission("x", files={"a": "", "a/b": ""}), 400, "is a file and a folder"),
    ("POST", "/api/jobs", submission("x", files={}), 400, "does not compile"),
    ("POST", "/api/jobs", submission("x", values={"B": {"linear": 1}}), 400, "has no stream `B`"),
    ("POST", "/api/jobs", submission("x", weight=-1), 400, "the weight of the job is negative"),
    ("POST", "/api/jobs", submission("x", rank=0), 400, "the rank of the job is 0"),
    ("POST", "/api/jobs", submission("x", min_mips=5, max_mips=1), 400, "the max_mips of template"),
    ("POST", "/api/jobs", submission("x", out="relative"), 400, "write the absolute path of a folder"),
    ("POST", "/api/jobs", submission("x", wieght=1), 400, "unknown key `wieght`"),
    ("PUT", "/api/capacity", {"mips": {"elsewhere": 5}}, 404, "there is no node `elsewhere`"),
    ("PUT", "/api/capacity", {"mips": {}}, 400, "the request has no mips"),
    ("PUT", "/api/capacity", {"mips": {"local": -5}}, 400, "negative"),
    ("POST", "/api/what-if", {"weights": {"nobody": 1}}, 404, "there is no job `nobody`"),
    ("POST", "/api/what-if", {"ranks": {"worker": 0}}, 400, "is 0"),
]


@pytest.mark.parametrize(("method", "path", "body", "status", "message"), WRONG, ids=range(len(WRONG)))
def test_a_wrong_request_is_refused_and_changes_nothing(
    api: Api, job: str, method: str, path: str, body: object, status: int, message: str
) -> None:
    before = [(j["id"], j["rank"], j["weight"], j["wanted"]) for j in api.ask("GET", "/api/jobs")[1]]
    capacity = api.ask("GET", "/api/capacity")
    found, answer = api.ask(method, path, body)
    assert (found, message in str(answer)) == (status, True), answer
    assert [(j["id"], j["rank"], j["weight"], j["wanted"]) for j in api.ask("GET", "/api/jobs")[1]] == before
    assert api.ask("GET", "/api/capacity") == capacity


def test_a_job_can_be_submitted_once_and_ends_for_good(api: Api, job: str, running: tuple[Api, Service]) -> None:
    assert api.ask("POST", "/api/jobs", submission(job))[0] == 409
    assert api.ask("POST", "/api/jobs", submission("brief", "short"))[0] == 201
    until(lambda: api.state("brief") == "done")
    for path in ("cancel", "suspend", "resume"):
        status, answer = api.ask("POST", f"/api/jobs/brief/{path}")
        assert (status, answer["error"]["message"]) == (409, "job `brief` is done")
    assert api.ask("PUT", "/api/jobs/brief/weight", {"weight": 1})[0] == 409
    left = list((running[1].settings.home / "jobs").glob(".*"))
    assert left == []


def test_the_name_of_a_job_that_is_over_is_free_when_it_is_removed(api: Api, running: tuple[Api, Service]) -> None:
    folder = running[1].settings.job_folder("again")
    for _ in range(2):
        assert api.ask("POST", "/api/jobs", submission("again", rank=1))[0] == 201
        until(lambda: api.state("again") == "running")
        status, answer = api.ask("DELETE", "/api/jobs/again")
        assert (status, answer["error"]["hint"]) == (409, "cancel it first")
        assert api.ask("POST", "/api/jobs/again/cancel")[0] == 202
        until(lambda: api.state("again") == "cancelled")
        assert (folder / "checkpoint").exists()
        assert api.ask("DELETE", "/api/jobs/again") == (200, {"id": "again", "state": "removed"})
        assert api.ask("GET", "/api/jobs/again")[0] == 404
        assert api.ask("DELETE", "/api/jobs/again")[0] == 404
        assert not folder.exists()
        assert "again" not in [event["job"] for event in api.ask("GET", "/api/events?most=1000")[1]]


def test_a_folder_that_was_to_be_deleted_when_the_service_was_killed_is_deleted_by_the_next(tmp_path: Path) -> None:
    left = tmp_path / "home" / "jobs" / ".old.removed-17"
    left.mkdir(parents=True)
    kept = tmp_path / "home" / "jobs" / ".old.lost-1"
    kept.mkdir()
    with running_service(tmp_path / "home"):
        assert (left.exists(), kept.exists()) == (False, True)


def test_a_body_that_is_too_large_is_refused(api: Api) -> None:
    status, answer = api.ask("POST", "/api/jobs", b" " * (MOST_PACKAGE_BYTES + 1))
    assert (status, "is more than 32 MiB" in answer["error"]["message"]) == (413, True)
    status, answer = api.ask("PUT", "/api/capacity", b" " * (MOST_BODY_BYTES + 1))
    assert (status, "is more than 1 MiB" in answer["error"]["message"]) == (413, True)


def test_pages_of_others_can_do_nothing(api: Api) -> None:
    body = {"mips": {"local": 1}}
    for origin in ("https://evil.example", "null", "http://[", "http://127.0.0.1", f"http://127.0.0.1:{api.port}.evil"):
        assert api.ask("PUT", "/api/capacity", body, Origin=origin)[0] == 403
    assert api.ask("PUT", "/api/capacity", body, **{"Content-Type": "text/plain"})[0] == 415
    assert api.ask("GET", "/api/jobs", Host="evil.example")[0] == 421
    assert api.ask("GET", "/api/jobs", Host=f"localhost:{api.port}")[0] == 200
    assert api.ask("GET", "/api/capacity")[1]["mips"]["local"] > 1


def raw(port: int, content: bytes) -> bytes:
    """What comes back for bytes that are no proper request."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(content)
        connection.shutdown(socket.SHUT_WR)
        found = b""
        while part := connection.recv(65_536):
            found += part
        return found


@pytest.mark.parametrize(
    "content",
    [
        b"\x16\x03\x01\x02\x00",
        b"GET /" + b"a" * 200_000 + b" HTTP/1.1\r\n\r\n",
        b"POST /api/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n",
        b"POST /api/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{",
        b"GET /api/jobs HTTP/1.1\r\n\r\n",
    ],
    ids=["tls", "a long line", "a negative length", "cut short", "no host"],
)
def test_bytes_that_are_no_request_do_no_harm(api: Api, content: bytes) -> None:
    try:
        found = raw(api.port, content)
    except OSError:
        found = b""
    assert found == b"" or found.startswith(b"HTTP/1.1 4")
    assert api.ask("GET", "/api/health")[0] == 200


def test_many_requests_and_slow_clients_leave_it_alive(api: Api) -> None:
    slow = [socket.create_connection(("127.0.0.1", api.port)) for _ in range(50)]
    for connection in slow:
        connection.sendall(b"POST /api/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Le")
    statuses: list[int] = []
    threads = [
        threading.Thread(target=lambda: statuses.extend(api.ask("GET", "/api/health")[0] for _ in range(20)))
        for _ in range(10)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for connection in slow:
        connection.close()
    assert (len(statuses), set(statuses) <= {200, 503}) == (200, True)
    until(lambda: api.ask("GET", "/api/health")[0] == 200)


def test_clients_that_never_finish_asking_are_shown_out(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.service.api.connections.ASKING_SECONDS", 0.5)
    slow = [socket.create_connection(("127.0.0.1", api.port)) for _ in range(MOST_REQUESTS + 20)]
    for connection in slow:
        connection.sendall(b"POST /api/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Le")
    until(lambda: api.ask("GET", "/api/health")[0] == 200)
    for connection in slow:
        connection.close()


def test_so_many_jobs_at_a_time_are_taken_and_no_more(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.service.api.app.MOST_SUBMITTED", 0)
    status, answer = api.ask("POST", "/api/jobs", submission("crowd"))
    assert (status, answer["error"]["message"]) == (503, "too many jobs are being submitted")
    assert api.ask("GET", "/api/jobs/crowd")[0] == 404


def test_a_full_disk_is_said_and_changes_nothing(
    running: tuple[Api, Service], job: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    api, service = running
    before = api.ask("GET", f"/api/jobs/{job}")[1]["weight"]

    def is_full(*arguments: object, **values: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as full:
        full.setattr(service, "set_importance", is_full)
        status, answer = api.ask("PUT", f"/api/jobs/{job}/weight", {"weight": 9})
    assert (status, answer["error"]["message"]) == (503, "the service cannot do that now: database or disk is full")
    assert api.ask("GET", f"/api/jobs/{job}")[1]["weight"] == before


def test_health_says_when_the_work_is_not_done(running: tuple[Api, Service], monkeypatch: pytest.MonkeyPatch) -> None:
    def is_full() -> None:
        raise OSError("the disk is full")

    with monkeypatch.context() as full:
        full.setattr(running[1], "tick", is_full)
        until(lambda: running[0].ask("GET", "/api/health")[0] == 503)
    until(lambda: running[0].ask("GET", "/api/health")[0] == 200)


def test_where_a_token_is_set_it_must_be_shown(tmp_path: Path) -> None:
    with running_service(tmp_path / "home", token="open-sesame") as (api, _):
        assert api.ask("GET", "/api/jobs")[0] == 200
        for token in (None, "", "open", "open-sesame2", "öpen"):
            status, answer = Api(api.url, None).ask(
                "GET", "/api/jobs", **({} if token is None else {"Authorization": f"Bearer {token}"})
            )
            assert (status, answer["error"]["message"]) == (401, "a token is needed")
        assert Api(api.url, None).ask("GET", "/metrics")[0] == 401
        assert Api(api.url, None).ask("GET", "/api/health")[0] == 200


def test_others_are_let_in_with_a_token_and_tls_alone(tmp_path: Path) -> None:
    for address in (Address(host="0.0.0.0"), Address(host="0.0.0.0", token="x"), Address(host="::")):
        with pytest.raises(UserError, match="others could run code here"):
            address.check()
    with pytest.raises(UserError, match="no TLS with"):
        Address(host="0.0.0.0", token="x", certificate=tmp_path, key=tmp_path).check()
    Address(host="::1").check()
    assert ssl.HAS_TLSv1_3


def test_two_services_cannot_share_a_home(running: tuple[Api, Service]) -> None:
    with pytest.raises(UserError, match="another service uses"):
        Service(running[1].settings)


def test_the_description_has_every_route_and_no_other(api: Api) -> None:
    told = api.ask("GET", "/api/openapi.json")[1]
    assert told == OPENAPI
    for path, operations in told["paths"].items():
        for method, operation in operations.items():
            target = path.replace("{job}", "nobody").replace("{number}", "1")
            status = api.ask(method.upper(), target, {} if "requestBody" in operation else None)[0]
            assert str(status) in operation["responses"], (method, path, status)
            other = "PATCH" if "delete" in operations else "DELETE"
            assert api.ask(other, target)[0] == 405


def check(value: Any, schema: dict[str, Any]) -> None:
    """The little of JSON Schema that answers are described with."""
    kinds = {"object": dict, "array": list, "string": str, "number": (int, float), "integer": int}
    if isinstance(schema.get("type"), str) and schema["type"] in kinds:
        assert isinstance(value, kinds[schema["type"]])
    for name in schema.get("required", ()):
        assert name in value
    for item in value if schema.get("type") == "array" and isinstance(value, list) else ():
        check(item, schema.get("items", {}))


@pytest.mark.parametrize("path", [p for p, o in OPENAPI["paths"].items() if "get" in o and "{" not in p])
def test_answers_are_as_they_are_described(api: Api, job: str, path: str) -> None:
    status, answer = api.ask("GET", path)
    content = OPENAPI["paths"][path]["get"]["responses"][str(status)]["content"]
    for kind, entry in content.items():
        if kind == "application/json":
            check(answer, entry["schema"])
        else:
            assert isinstance(answer, str)
