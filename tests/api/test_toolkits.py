"""Toolkits: folders of Python operators that SPL finds by `use`."""

from __future__ import annotations

import sys

import pytest

from penstock.api.toolkits import load
from penstock.diagnostics import UserError
from penstock.lang import compile_file, compile_text
from penstock.testing import outputs

PRICES = '''
from penstock import Operator, OperatorModel, Selectivity, State, flat_map, map_

RATE = 1.1


@map_
def Converted(t, *, rate: float = RATE):
    """The price in another currency."""
    return {"sym": t.sym, "price": t.price * rate}


@flat_map(namespace="finance.noise")
def Repeated(t, *, times: int):
    for _ in range(times):
        yield t


class Changes(Operator):
    """Passes on a price that differs from the last one of its symbol."""

    def __init__(self):
        self.last = {}

    def process(self, t):
        if self.last.get(t.sym) != t.price:
            self.last[t.sym] = t.price
            yield t
'''

PROGRAM = """
use {package}::*;
use finance.noise::Repeated;

composite Main {{
  graph
    stream<rstring sym, float64 price> Ticks = Beacon() {{
      param iterations: 3u;
      output Ticks: sym = "IBM", price = (float64) IterationCount();
    }}
    stream<Ticks> Doubled = Converted(Ticks) {{ param rate: 2.0; }}
    stream<Ticks> Many = Repeated(Doubled) {{ param times: 2; }}
    stream<Ticks> New = Changes(Many) {{ }}
}}
"""


@pytest.fixture
def toolkit(tmp_path, monkeypatch):
    """A toolkit folder with one package of a name that no other test uses."""
    package = f"finance_{tmp_path.name.replace('-', '_')}"
    folder = tmp_path / "tk"
    (folder / package).mkdir(parents=True)
    (folder / package / "__init__.py").write_text("")
    (folder / package / "prices.py").write_text(PRICES)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return folder, package


def test_spl_finds_python_operators_by_use(toolkit):
    folder, package = toolkit
    program = compile_text(PROGRAM.format(package=package), toolkits=[folder])
    assert outputs(program, "New") == [("IBM", 0.0), ("IBM", 2.0), ("IBM", 4.0)]
    assert program.application.operator["New"].kind == f"{package}::Changes"


def test_their_models_are_inferred(toolkit):
    folder, package = toolkit
    models = {
        o.id: o.model for o in compile_text(PROGRAM.format(package=package), toolkits=[folder]).application.operators
    }
    assert models["Doubled"].state.value == "stateless"
    assert models["Doubled"].selectivity.value == "exactly one"
    assert models["Many"].selectivity.value == "unknown"
    assert models["New"].partition_by == (frozenset({"sym"}),)


def test_without_use_they_are_not_found(toolkit):
    folder, package = toolkit
    text = PROGRAM.format(package=package).replace(f"use {package}::*;", "")
    with pytest.raises(UserError, match="there is no operator `Converted`"):
        compile_text(text, toolkits=[folder])


def test_the_folder_toolkit_beside_a_program_is_always_searched(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "toolkit").mkdir()
    name = f"counting_{tmp_path.name.replace('-', '_')}"
    (tmp_path / "toolkit" / f"{name}.py").write_text(
        "from penstock import source\n\n@source\ndef Numbers(limit: int):\n    yield from range(limit)\n"
    )
    (tmp_path / "main.spl").write_text("composite Main { graph stream<int32 n> N = Numbers() { param limit: 3; } }")
    assert outputs(compile_file(tmp_path / "main.spl"), "N") == [(0,), (1,), (2,)]


def test_a_wrong_parameter_is_located_in_the_spl(toolkit):
    folder, package = toolkit
    text = PROGRAM.format(package=package).replace("rate: 2.0", "rat: 2.0")
    with pytest.raises(UserError) as caught:
        compile_text(text, path="app.spl", toolkits=[folder])
    assert "did you mean `rate`?" in str(caught.value)
    assert "app.spl:11" in str(caught.value)


def test_a_missing_folder_and_a_broken_file_are_named(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    with pytest.raises(UserError, match="there is no toolkit folder"):
        load(tmp_path / "nowhere")
    (tmp_path / "broken_toolkit_file.py").write_text("1 +")
    with pytest.raises(UserError, match=r"the toolkit file `broken_toolkit_file\.py` cannot be imported"):
        load(tmp_path)


def test_a_file_with_the_name_of_another_module_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "json.py").write_text("")
    with pytest.raises(UserError, match="has the name of the module `json`"):
        load(tmp_path)
