"""Passwords appear in no plan, page, log or message, whatever is asked of the command line."""

from __future__ import annotations

import json
import sys
import time

import pytest

from penstock.base import redaction
from penstock.cli import main

PROGRAM = r"""
rstring databaseOf(rstring user) { return "postgresql://" + user + ":mArKeR-pw1@localhost:1/db"; }
composite Main {
  graph
    stream<int32 n, rstring s> A = FileSource() { param file: "in.csv"; }
    stream<int32 n, rstring s> F = Functor(A) { output F: s = "jdbc:x://h/db?user=u&password=mArKeR-pw2&x=1"; }
    () as Rows = PostgresSink(F) { param url: "postgresql://me:mArKeR-pw3@localhost:1/db"; table: "t"; }
    () as More = PostgresSink(F) { param url: "host=localhost port=1 user=me password='mArKeR pw4'"; table: "t"; }
    () as Third = PostgresSink(F) { param url: databaseOf("me"); table: "t"; }
    () as Fourth = PostgresSink(F) {
      param url: "postgresql://me:" + getSubmissionTimeValue("DB_PASSWORD") + "@localhost:1/db"; table: "t"; }
    () as Fifth = PostgresSink(F) { param url: "postgresql://me:" + "mArKeR-pwD" + "@localhost:1/db"; table: "t"; }
    () as Sixth = PostgresSink(F) { param url: "host=h password=" + "mArKeR-pwE"; table: "t"; }
    () as Custom1 = Custom(F) { logic onTuple F: {
      rstring jaas = "org.apache.X required username=\"u\" password=\"mArKeR-pw5\";";
      rstring p = "ssl.keystore.password=mArKeR-pw6"; println(p + jaas); } }
}
"""
PYTHON = """
from penstock import App, sink, source

@sink
def store(t, *, password: str, url: str): pass

@sink
def fail(t, *, token: str): raise ValueError(f"cannot log in with {token}: postgresql://a:mArKeR-pw9@b")

@source
def numbers():
    yield (1,)

app = App("Main")
a = app.source(numbers, "int32 n")
a.for_each(store, password="mArKeR-pw7", url="amqp://u:mArKeR-pw8@h")
a.for_each(fail, token="mArKeR-pwA")
"""


@pytest.fixture(autouse=True)
def nothing_protected(monkeypatch):
    monkeypatch.setattr(redaction, "_protected", set())


@pytest.fixture
def shown(tmp_path, monkeypatch, capfd):
    """Runs a command in a folder of its own; gives its exit status and all that it has shown or written."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.csv").write_text("1,a\n2,b\n")
    (tmp_path / "leak.spl").write_text(PROGRAM)
    (tmp_path / "leak.py").write_text(PYTHON)
    given = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}

    def run(*arguments: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["penstock", *arguments])
        with pytest.raises(SystemExit) as caught:
            main()
        texts = [*capfd.readouterr()]
        files = (p for p in tmp_path.rglob("*") if p.is_file() and p not in given and "__pycache__" not in p.parts)
        texts += [path.read_text(errors="replace") for path in files]
        return caught.value.code, "\n".join(texts)

    return run


STAGES = ["logical", "parallel", "fused", "generated"]
COMMANDS = [
    ["check"],
    *(["explain", "--stage", stage, *more] for stage in STAGES for more in ([], ["--json"], ["--html", "page.html"])),
]


@pytest.mark.parametrize("app", ["leak.spl", "leak.py"])
def test_no_view_of_an_application_shows_a_password(app, shown):
    for command, *options in COMMANDS:
        status, text = shown(command, app, *options)
        assert status == 0, text
        assert "mArKeR" not in text, options
    _, text = shown("explain", app)
    assert redaction.HIDDEN in text


def test_a_run_that_fails_shows_no_password(shown):
    values = ("--set", "DB_PASSWORD=mArKeR-pwB", "--set", "TOKEN=mArKeR-pwC")
    for more in ((), ("--json",)):
        status, text = shown("run", "leak.spl", "--engine", "reference", *values, *more)
        assert status == 1
        assert "PostgresSink" in text
        assert "mArKeR" not in text
        status, text = shown("run", "leak.py", "--engine", "reference", *more)
        assert status == 1
        assert "cannot log in with ***" in text
        assert "mArKeR" not in text


def test_a_mistake_beside_a_password_shows_none(shown, tmp_path):
    for find, put in [('table: "t"', 'tabel: "t"'), ("param url:", "param url"), ("PostgresSink(F)", "PostgresSnk(F)")]:
        (tmp_path / "leak.spl").write_text(PROGRAM.replace(find, put))
        for more in ((), ("--json",)):
            status, text = shown("check", "leak.spl", *more)
            assert status == 1
            assert "mArKeR" not in text


def test_a_bug_of_ours_shows_no_password(shown, monkeypatch):
    def fail(*arguments: object, **options: object) -> None:
        raise RuntimeError("no answer from postgresql://me:mArKeR@db")

    monkeypatch.setattr("penstock.lang.compile_file", fail)
    for debug in ("", "1"):
        monkeypatch.setenv("PENSTOCK_DEBUG", debug)
        status, text = shown("check", "leak.spl")
        assert status == 4
        assert "no answer from postgresql://me:***@db" in text


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("a://u:p@ss@h/x", "a://u:***@h/x"),
        ("a://u:it's@h", "a://u:***@h"),
        ("a://:p@h", "a://:***@h"),
        ("a://u@h:80/x", "a://u@h:80/x"),
        ("jdbc:postgresql://h/d?user=u&password=a;b,c&ssl=1", "jdbc:postgresql://h/d?user=u&password=***&ssl=1"),
        (r"password='it\'s' x", "password=*** x"),
        (r"\"password\": \"x y\", z", r"\"password\": ***, z"),
        ('{"ssl.truststore.password": "x"}', '{"ssl.truststore.password": ***}'),
        ('sasl.jaas.config=a required password="x";', "sasl.jaas.config=a required password=***;"),
        ("f(password=x)", "f(password=***)"),
        ("PASSWORD = 'x'", "PASSWORD = ***"),
        ("the password: none was given", "the password: none was given"),
        ("tokens=5, tokenize(x)", "tokens=5, tokenize(x)"),
    ],
)
def test_passwords_are_found_by_where_they_stand(text, wanted):
    assert redaction.redact(text) == wanted


@pytest.mark.parametrize("text", ["a" * 10**6, "x://" * 10**5, "password=" * 10**5, "':" * 10**5, "password='" * 10**4])
def test_long_texts_take_no_time(text):
    before = time.process_time()
    redaction.redact(f"a://b:c@d {text}")
    assert time.process_time() - before < 5


def test_what_was_given_as_a_password_is_hidden_wherever_it_stands():
    redaction.protect_url("postgresql://me:geh@eim1@db")
    assert redaction.redact('could not translate host name "eim1@db"') == 'could not translate host name "***@db"'
    redaction.protect("abc")
    assert redaction.redact("abcdef") == "abcdef"


def test_plain_data_keep_their_form():
    found = redaction.redact_json(
        {
            "node": "Param",
            "name": "password",
            "values": [{"node": "Literal", "type": {"type": "rstring"}, "value": "x"}],
        }
    )
    assert json.loads(json.dumps(found))["values"] == [{"node": "Literal", "type": {"type": "rstring"}, "value": "***"}]
