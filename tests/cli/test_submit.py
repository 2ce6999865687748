"""The commands that talk to a service, against one that runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from penstock.cli import cli
from service.running_service import SOURCE, Api, running_service


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with running_service(tmp_path_factory.mktemp("commands") / "home") as (found, _):
        yield found


def call(api: Api, *arguments: str) -> Result:
    return CliRunner().invoke(cli, [*arguments, "--server", api.url])


def told(api: Api, *arguments: str) -> Any:
    done = call(api, *arguments, "--json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_a_job_goes_through_its_life_by_commands(api: Api, tmp_path: Path) -> None:
    (tmp_path / "app.spl").write_text(SOURCE)
    (tmp_path / "data").mkdir()
    answer = told(
        api, "submit", str(tmp_path / "app.spl"), "--name", "j", "--rank", "2", "--value", "A=3", "--set", "how=long"
    )
    assert (answer["id"], answer["state"], answer["rank"]) == ("j", "queued", 2)
    spec = told(api, "status", "j", "--until", "running", "--wait", "90")["spec"]
    assert spec["values"] == {"A": {"linear": 3.0}}
    assert spec["templates"] == [{"app": "app.spl", "data": str(tmp_path / "data"), "set": {"how": "long"}}]
    assert "rank 2" in call(api, "status").output
    assert told(api, "set-weight", "j", "4")["weight"] == 4
    assert told(api, "set-rank", "j", "1", "--required")["required"] is True
    assert told(api, "suspend", "j")["wanted"] == "suspend"
    told(api, "status", "j", "--until", "suspended", "--wait", "90")
    assert told(api, "resume", "j")["wanted"] == "run"
    told(api, "status", "j", "--until", "running", "--wait", "90")
    assert call(api, "logs", "j", "--bytes", "100").exit_code == 0
    told(api, "cancel", "j")
    told(api, "status", "j", "--until", "cancelled", "--wait", "90")
    assert "j" in call(api, "status", "j").output
    done = call(api, "status", "j", "--until", "running")
    assert "is cancelled, and will not be running" in str(done.exception)
    assert told(api, "cancel", "j", "--forget") == {"id": "j", "state": "removed"}
    assert "there is no job `j`" in str(call(api, "cancel", "j", "--forget").exception)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("submit", "nowhere.spl"), "there is no file `nowhere.spl`"),
        (("submit", __file__, "--toolkit", "nowhere"), "there is no toolkit folder `nowhere`"),
        (("status", "nobody"), "there is no job `nobody`"),
        (("cancel", "nobody"), "there is no job `nobody`"),
        (("set-weight", "nobody", "2"), "there is no job `nobody`"),
        (("logs", "nobody"), "there is no job `nobody`"),
        (("logs", "a?b=c"), "there is no job `a?b=c`"),
        (("cancel", "j?"), "there is no job `j?`"),
        (("status", ""), "the name of the job is empty"),
    ],
)
def test_a_mistake_is_said_in_a_line(api: Api, arguments: tuple[str, ...], message: str) -> None:
    done = call(api, *arguments)
    assert (done.exit_code != 0, message in f"{done.output}{done.exception}") == (True, True)


def test_a_program_that_does_not_compile_is_refused_with_its_place(api: Api, tmp_path: Path) -> None:
    (tmp_path / "bad.spl").write_text("composite Main { graph stream<int64 n> A = Beacon() { param iterations: x; } }")
    done = call(api, "submit", str(tmp_path / "bad.spl"))
    assert "template `template` does not compile: bad.spl:1:" in str(done.exception)
    assert told(api, "status") == [] or "bad" not in [job["id"] for job in told(api, "status")]


def test_where_no_service_answers_it_is_said_what_to_do() -> None:
    done = CliRunner().invoke(cli, ["status", "--server", "http://127.0.0.1:9"])
    assert "start one with `penstock serve`" in str(done.exception)
    for url in ("ftp://x", "http://[bad", "http://", "http://host:port", "http://host:99999"):
        done = CliRunner().invoke(cli, ["status", "--server", url])
        assert "is not the URL of a service" in str(done.exception)


def test_an_authority_that_is_none_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "empty.pem").touch()
    for path in (tmp_path / "nowhere.pem", tmp_path / "empty.pem"):
        monkeypatch.setenv("PENSTOCK_CA", str(path))
        done = CliRunner().invoke(cli, ["status", "--server", "https://127.0.0.1:9"])
        assert f"PENSTOCK_CA is `{path}`" in str(done.exception)


def test_serve_refuses_what_does_not_go_together(tmp_path: Path) -> None:
    nodes = tmp_path / "nodes.json"
    nodes.write_text('{"nodes": []}')
    for arguments, message in (
        (["--mips", "5", "--nodes", str(nodes)], "exclude each other"),
        (["--nodes", str(nodes), "--home", str(tmp_path / "h")], "has no nodes"),
        (["--host", "0.0.0.0"], "others could run code here"),
        (["--mips", "inf"], "is not in the range"),
        (["--macro", "inf"], "is not in the range"),
        (["--macro", "5", "--micro", "6"], "longer than --macro"),
        (["--master", "nonsense"], "give local, or a URL"),
        (["--certificate", str(nodes), "--home", str(tmp_path / "h")], "no TLS with"),
        (
            ["--certificate", str(nodes), "--key", str(nodes), "--home", str(tmp_path / "h")],
            "give a certificate and its key",
        ),
        (["--key", str(nodes), "--home", str(tmp_path / "h")], "without its --certificate"),
    ):
        done = CliRunner().invoke(cli, ["serve", *arguments])
        assert message in f"{done.output}{done.exception}"
    assert not (tmp_path / "h").exists()
