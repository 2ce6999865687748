"""Which programs a profile may be taken of without asking: those that touch nothing outside if they run twice."""

from __future__ import annotations

import pytest

from penstock import App, OperatorModel, State, map_, source
from penstock.compiler.short_profile import is_harmless
from penstock.lang import compile_text

READ = 'stream<int32 a> In = FileSource() { param file: "in"; }'
WRITE = 'FileSink(In) { param file: "out"; }'
POSTED = []


def is_spl_harmless(read: str = READ, inner: str = "", write: str = WRITE) -> bool:
    return is_harmless(compile_text(f"composite Main {{ graph {read} {inner} () as Out = {write} }}").application)


def post(t):
    POSTED.append(t.x)
    return t


def add(t):
    return {"x": t.x + 1}


@map_(model=OperatorModel(state=State.STATELESS))
def declared(t):
    return post(t)


@map_(partition_by="x")
def keyed(t):
    return post(t)


@source(namespace="mine")
def FileSource():
    yield from ()


def test_a_program_from_files_to_files_below_the_output_folder_is_harmless():
    assert is_spl_harmless()
    assert is_spl_harmless("stream<int32 a> In = Beacon() {}")
    assert is_spl_harmless(inner='stream<int32 a> B = Functor(In) {} () as More = FileSink(B) { param file: "b"; }')


@pytest.mark.parametrize("how", ["deleteFile: true", 'moveFileToDirectory: "read"'])
def test_a_source_that_uses_up_its_file_is_not(how):
    assert not is_spl_harmless(f'stream<int32 a> In = FileSource() {{ param file: "in"; {how}; }}')


def test_a_sink_that_moves_its_files_away_is_not():
    moved = 'FileSink(In) {{ param file: "out"; closeMode: punct; moveFileToDirectory: "{}"; }}'
    assert is_spl_harmless(write=moved.format("done"))
    assert not is_spl_harmless(write=moved.format("/srv/done"))


def test_a_sink_that_tells_of_its_files_is_one_too():
    told = '(stream<rstring name> Closed) as More = FileSink(In) {{ param file: "{}"; }}'
    assert is_spl_harmless(inner=told.format("more"))
    assert not is_spl_harmless(inner=told.format("/srv/more"))


def test_code_that_acts_outside_is_not_harmless_wherever_it_stands():
    assert not is_spl_harmless(
        inner="stream<int32 a> B = Custom(In) { logic onTuple In: { printStringLn((rstring) a); submit(In, B); } }"
    )
    assert not is_spl_harmless(
        write='FileSink(In) { logic onTuple In: printStringLn((rstring) a); param file: "out"; }'
    )


@pytest.mark.parametrize(("function", "harmless"), [(add, True), (post, False), (declared, False), (keyed, False)])
def test_of_a_users_functions_only_what_is_proven_to_keep_nothing_is_harmless(function, harmless):
    app = App("Main")
    app.read_file("in", "int64 x").map(function).write_file("out")
    assert is_harmless(app.program().application) is harmless


def test_a_users_source_with_the_name_of_a_harmless_one_is_none():
    app = App("Main")
    app.source(FileSource, "int64 x").write_file("out")
    assert not is_harmless(app.program().application)
