"""Applications in tests: on every engine the same."""

from __future__ import annotations

import pytest

from penstock import App, UserError, col, flat_map, map_
from penstock.expr.environment import Environment
from penstock.reference.failure import OperatorFailed
from penstock.reference.result import DEAD_LETTERS
from penstock.testing import apply, feed, outputs, run

ROWS = [(1,), (0,), (2,)]


def halves(**where) -> App:
    app = App("Test", **where)
    app.from_rows(ROWS, "int32 x", name="Given").map(lambda t: (2 // t.x,), on_error="skip", name="Halves")
    return app


def test_the_local_engine_gives_what_the_reference_gives(tmp_path):
    app = halves(directory=tmp_path)
    locally, by_reference = (run(app, collect=["Given", "Halves"], engine=engine) for engine in ("local", "reference"))
    for id_ in ("Given", "Halves"):
        assert locally.tuples_of(id_) == by_reference.tuples_of(id_)
    assert (locally.stopped, locally.received, locally.submitted, locally.dead_letters, locally.rejected) == (
        by_reference.stopped,
        by_reference.received,
        by_reference.submitted,
        by_reference.dead_letters,
        by_reference.rejected,
    )


def test_dead_letters_lie_in_the_folder_that_a_test_names_and_nowhere_else(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    out = tmp_path / "out"
    out.mkdir()
    assert run(halves()).rejected == {"Halves": 1}
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert run(halves(), environment=Environment(output_directory=out)).rejected == {"Halves": 1}
    assert [path.name for path in out.iterdir()] == [DEAD_LETTERS]


@pytest.mark.parametrize("engine", ["local", "reference"])
def test_files_lie_beside_the_program_unless_a_test_names_a_folder(engine, tmp_path, monkeypatch):
    for folder in ("program", "program/data", "elsewhere", "named"):
        (tmp_path / folder).mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    (tmp_path / "program/data/in.csv").write_text("1\n")
    app = App("Test", directory=tmp_path / "program")
    app.read_csv("in.csv", "int32 x").write_csv("out.csv")
    run(app, engine=engine)
    assert (tmp_path / "program/data/out.csv").read_text() == "1\n"
    if engine == "local":
        run(app, engine=engine, out=tmp_path / "named")
        assert (tmp_path / "named/out.csv").read_text() == "1\n"
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_letters_of_an_earlier_run_are_not_those_of_this_one(tmp_path):
    environment = Environment(output_directory=tmp_path)
    run(halves(), environment=environment)
    app = App("Test")
    app.from_rows([(1,)], "int32 x", name="Given").for_each(lambda t: None)
    assert run(app, environment=environment).dead_letters == ()


def test_options_of_a_run_are_taken_and_wrong_ones_refused():
    app = App()
    numbers = app.from_rows([(n % 3,) for n in range(50)], "int32 x")
    made = numbers.with_columns(x=col.x + 1).named("Made")
    assert outputs(app, made, channels=3, fusion="none", batch=7) == outputs(app, made, engine="reference")
    with pytest.raises(UserError, match="a run has no option `chanels`"):
        outputs(app, made, chanels=3)
    with pytest.raises(UserError, match="there is no engine `locale`"):
        outputs(app, made, engine="locale")


@pytest.mark.parametrize("engine", ["local", "reference"])
def test_a_stream_that_is_not_there_is_an_error(engine):
    with pytest.raises(UserError, match="there is no stream `Halfs`; did you mean `Halves`"):
        run(halves(), collect=["Halfs"], engine=engine)


def test_operators_may_have_the_name_of_what_collects():
    @flat_map
    def Collected(t):
        yield t

    app = App()
    made = app.from_rows(ROWS, "int32 x").apply(Collected, name="Collected1")
    assert outputs(app, made) == made.collect() == ROWS


@pytest.mark.parametrize("engine", ["local", "reference"])
def test_one_operator_is_fed_on_either_engine(engine):
    rows = apply("Functor", ROWS, schema="int32 x", engine=engine)
    assert rows == ROWS


def test_a_source_that_could_wait_for_more_ends(tmp_path):
    (tmp_path / "one.txt").write_text("1\n")
    app = App(directory=tmp_path)
    names = app.invoke("DirectoryScan", outputs=["rstring name"], params={"directory": str(tmp_path)}, name="Names")[0]
    assert [name.rsplit("/", 1)[-1] for (name,) in outputs(app, names)] == ["one.txt"]


@pytest.mark.parametrize("engine", ["local", "reference"])
def test_an_application_without_operators_is_done_at_once(engine):
    assert run(App(), engine=engine).received == {}


@pytest.mark.xdist_group("spark")
def test_rows_come_from_spark_as_well():
    pytest.importorskip("pyspark")
    from spark_session import session

    app = App()
    made = app.source(feed([(1,), (2,)]), "int32 x").map(lambda t: (t.x * 2,), name="Made")
    assert outputs(app, made, engine="spark", spark=session()) == [(2,), (4,)]


def test_a_batch_function_that_depends_on_other_rows_fails_in_a_test():
    @map_(batch="numpy")
    def summed(columns):
        return {"x": columns["x"].cumsum()}

    with pytest.raises(OperatorFailed, match="must not depend on other rows"):
        apply(summed, [(1,), (2,), (3,)], schema="int64 x")
