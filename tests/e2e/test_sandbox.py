"""`--sandbox`: a program of somebody else does not leave its folders."""

from __future__ import annotations

import os

import pytest

from penstock.base import sandbox
from penstock.base.diagnostics import UserError
from penstock.cli.options.application_options import AppArguments
from penstock.compiler import Options, compile
from penstock.local.run import run_locally
from penstock.reference import run as run_reference


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setenv(sandbox.VARIABLE, "1")
    for name in ("data", "out", "outside"):
        (tmp_path / name).mkdir()
    (tmp_path / "outside/secret.csv").write_text("geheim\n")
    (tmp_path / "data/in.csv").write_text("a\nb\n")
    return tmp_path


def run_here(program, *, environment):
    return run_locally(compile(program, Options(environment=environment)))


def arguments(place, text, name="app.spl", toolkits=()):
    (place / name).write_text(text)
    return AppArguments(app=str(place / name), main=None, toolkits=toolkits, data=place / "data", settings={})


def run(place, text, engine=run_reference, **more):
    given = arguments(place, text, **more)
    program = given.program()
    return engine(program, environment=given.environment(program, place / "out"))


def graph(*lines):
    return "composite Main { graph\n" + "\n".join(lines) + "\n}"


READ = 'stream<rstring s> In = FileSource() { param file: "in.csv"; }'
WRITE = '() as Out = FileSink(In) { param file: "out.csv"; }'


def test_a_program_that_stays_at_home_runs(place):
    run(place, graph(READ, WRITE))
    assert (place / "out/out.csv").read_text() == '"a"\n"b"\n'


@pytest.mark.parametrize(
    "call",
    [
        'mutable int32 e = 0; fopen(s, "w", e)',
        "mutable int32 e = 0; remove(s, e)",
        'mutable int32 e = 0; mutable uint64 n = 0ul; fstat(s, "size", n, e)',
        "mutable int32 e = 0; mkdir(s, 511u, e)",
        'rstring t = mktemp("aXXXXXX")',
        'rstring t = getEnvironmentVariable("HOME")',
        "mutable map<rstring, rstring> m = {}; getApplicationConfiguration(m, s)",
        'rstring t = getApplicationConfigurationProperty("a", "b", "c")',
    ],
)
def test_functions_that_reach_out_are_refused_where_they_are_called(place, call):
    with pytest.raises(UserError, match=r"app\.spl:3:\d+: error: `\w+` is not to be had in a sandbox"):
        arguments(place, graph(READ, f"() as C = Custom(In) {{ logic onTuple In: {{ {call}; }} }}")).program()


def test_a_parameter_and_an_annotation_cannot_call_them_either(place):
    wide = '@parallel(width = (int32) getEnvironmentVariable("N")) ' + WRITE.replace("Out", "Wide")
    named = WRITE.replace('"out.csv"', 'getEnvironmentVariable("HOME")')
    for text in (graph(READ, named), graph(READ, wide)):
        with pytest.raises(UserError, match="is not to be had in a sandbox"):
            arguments(place, text).program()


@pytest.mark.parametrize(
    "operator",
    [
        '() as S = TCPSink(In) { param role: client; address: "127.0.0.1"; port: 1u; }',
        '() as S = UDPSink(In) { param address: "127.0.0.1"; port: 1u; }',
        'stream<rstring s> T = TCPSource() { param role: client; address: "127.0.0.1"; port: 1u; }',
        '() as S = PostgresSink(In) { param url: "postgresql://x/y"; table: "t"; }',
        '() as S = KafkaProducer(In) { param topic: "t"; bootstrapServers: "x:1"; messageAttribute: s; }',
        '() as S = Export(In) { param streamId: "x"; }',
    ],
)
def test_operators_that_talk_to_others_are_refused(place, operator):
    with pytest.raises(UserError, match=r"app\.spl:3:\d+: error: `\w+` reaches out of the sandbox"):
        arguments(place, graph(READ, operator)).program()


@pytest.mark.parametrize("engine", [run_reference, run_here])
@pytest.mark.parametrize("way", ["../outside/secret.csv", "{place}/outside/secret.csv", "link/secret.csv"])
def test_files_outside_are_neither_read_nor_written(place, way, engine):
    for name in ("data", "out"):
        (place / name / "link").symlink_to(place / "outside")
    way = way.format(place=place)
    read, write = READ.replace("in.csv", way), WRITE.replace("out.csv", way)
    for text in (graph(read, WRITE), graph(READ, write), graph(READ, write.replace("; }", "; append: true; }"))):
        with pytest.raises((UserError, Exception), match="which a program in a sandbox cannot leave"):
            run(place, text, engine)
    assert (place / "outside/secret.csv").read_text() == "geheim\n"
    assert os.listdir(place / "outside") == ["secret.csv"]


def test_names_of_tuples_and_folders_lead_nowhere_else(place):
    (place / "data/names.csv").write_text(f'"{place}/outside/secret.csv"\n')
    names = READ.replace("In ", "Names ").replace("in.csv", "names.csv")
    by_name = "stream<rstring s> In = FileSource(Names) { param format: line; }"
    scan = f'stream<rstring s> In = DirectoryScan() {{ param directory: "{place}/outside"; }}'
    moved = WRITE.replace("; }", f'; moveFileToDirectory: "{place}/outside"; }}')
    for text in (graph(names, by_name, WRITE), graph(scan, WRITE), graph(READ, moved)):
        with pytest.raises((UserError, Exception), match="which a program in a sandbox cannot leave"):
            run(place, text)
    assert os.listdir(place / "outside") == ["secret.csv"]


def test_python_perl_and_toolkits_that_nobody_named_bring_no_code(place, monkeypatch):
    (place / "toolkit").mkdir()
    (place / "toolkit/__init__.py").write_text("raise SystemExit('it ran')\n")
    (place / "more").mkdir()
    (place / "more/toolkit.xml").write_text("<toolkit/>")
    monkeypatch.setenv("STREAMS_SPLPATH", str(place / "more"))
    run(place, graph(READ, WRITE))
    with pytest.raises(UserError, match="holds Perl, which a sandbox does not run"):
        arguments(place, graph(READ, WRITE) + "<% system('touch made') %>", name="app.splmm").program()
    for app in (f"{place}/app.py:app", "os:system", f"{place}/app.py"):
        with pytest.raises(UserError, match="is Python, which a sandbox does not run"):
            AppArguments(app=app, main=None, toolkits=(), data=None, settings={}).program()


def test_without_it_all_of_that_is_there(place, monkeypatch):
    monkeypatch.delenv(sandbox.VARIABLE)
    run(place, graph(READ.replace("in.csv", "../outside/secret.csv"), WRITE))
    assert (place / "out/out.csv").read_text() == '"geheim"\n'
