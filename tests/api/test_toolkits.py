"""Toolkits: folders of Python operators that SPL finds by `use`."""

from __future__ import annotations

import sys

import pytest

from penstock.base.diagnostics import UserError
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


def test_without_use_the_message_says_which_use_to_write(toolkit):
    folder, package = toolkit
    text = PROGRAM.format(package=package).replace(f"use {package}::*;", "")
    with pytest.raises(UserError, match="there is no operator `Converted`") as caught:
        compile_text(text, toolkits=[folder])
    assert f"write `use {package}::Converted;` at the top of the file" in str(caught.value)
    assert "did you mean `Converted`" not in str(caught.value)


def test_a_wrong_namespace_is_told_the_right_one(toolkit):
    folder, package = toolkit
    text = PROGRAM.format(package=package).replace("= Converted(", "= finance.noise::Converted(")
    with pytest.raises(UserError, match=f"did you mean `{package}::Converted`"):
        compile_text(text, toolkits=[folder])


def test_a_composite_of_another_namespace_says_which_use_to_write(tmp_path):
    (tmp_path / "more.spl").write_text(
        "namespace far.away;\npublic composite Copy(input I; output O) { graph stream<I> O = Filter(I) {} }"
    )
    text = """composite Main { graph
        stream<int32 n> A = Beacon() { param iterations: 1u; }
        stream<int32 n> B = Copy(A) {}
    }"""
    with pytest.raises(UserError, match=r"write `use far\.away::Copy;` at the top of the file"):
        compile_text(text, toolkits=[tmp_path])


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


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(UserError, match="there is no toolkit folder"):
        compile_text("composite Main { }", toolkits=[tmp_path / "nowhere"])


USES = "composite Main {{ graph stream<int32 n> N = {name}() {{ param limit: 3; }} }}"
SOURCE = "from penstock import source\n\n@source\ndef {name}(limit: int):\n    yield from range(limit)\n"
STARTED = "\nimport pathlib\npathlib.Path({mark!r}).touch()\n"


@pytest.fixture
def crowded(tmp_path, monkeypatch):
    """A toolkit folder with a file that is used, among scripts, tests and files that cannot be imported."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    unique = tmp_path.name.replace("-", "_")
    folder, mark = tmp_path / "tk", tmp_path / "started"
    folder.mkdir()
    ran = STARTED.format(mark=str(mark))
    (folder / f"good_{unique}.py").write_text(SOURCE.format(name="Good"))
    (folder / f"script_{unique}.py").write_text(f"{ran}\nclass Good(dict): pass\nGood = 1\n")
    (folder / f"test_{unique}.py").write_text(
        f"import unittest\n{ran}\nclass Good(unittest.TestCase):\n    def test(self): pass\n"
    )
    (folder / f"other_{unique}.py").write_text(SOURCE.format(name="Other") + ran)
    (folder / f"exits_{unique}.py").write_text(SOURCE.format(name="Exits") + "\nraise SystemExit(3)\n")
    (folder / f"torn_{unique}.py").write_text("def Torn(limit: int):\n    yield (\n")
    (folder / f"missing_{unique}.py").write_text("import no_such_module_at_all\n" + SOURCE.format(name="Missing"))
    (folder / "json.py").write_text(SOURCE.format(name="Json"))
    (folder / f"binary_{unique}.py").write_bytes(b"\0\xff class Good(Operator)")
    (folder / f"folder_{unique}.py").mkdir()
    return folder, mark


def test_only_files_that_define_used_operators_are_imported(crowded):
    folder, mark = crowded
    program = compile_text(USES.format(name="Good"), toolkits=[folder])
    assert outputs(program, "N") == [(0,), (1,), (2,)]
    assert not mark.exists()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Exits", r"the toolkit file `exits_\S+` cannot be imported: 3"),
        ("Torn", r"the toolkit file `torn_\S+` cannot be imported"),
        ("Missing", r"the toolkit file `missing_\S+` cannot be imported: No module named 'no_such_module_at_all'"),
        ("Json", "the toolkit file `json.py` has the name of the module `json`"),
    ],
)
def test_a_file_that_cannot_be_imported_is_an_error_where_it_is_needed(crowded, name, message):
    with pytest.raises(UserError, match=message):
        compile_text(USES.format(name=name), toolkits=[crowded[0]])


def test_the_nearest_name_is_found_without_importing(crowded):
    folder, mark = crowded
    with pytest.raises(UserError, match="did you mean `Other`"):
        compile_text(USES.format(name="Othr"), toolkits=[folder])
    assert not mark.exists()


WAYS = {
    "module": "import penstock as p\n@p.source\ndef Here(limit: int):\n    yield from range(limit)\n",
    "called": "from penstock.api.operators import source as s\n"
    "@s()\ndef Here(limit: int):\n    yield from range(limit)\n",
    "handed over": "from penstock import source\n"
    "def Here(limit: int):\n    yield from range(limit)\nnumbers = source(Here)\n",
    "in try": "try:\n    from penstock import source\nexcept ImportError:\n    raise\nelse:\n"
    "    @source\n    def Here(limit: int):\n        yield from range(limit)\n",
    "own decorator": "from penstock import source\ndef mine(f):\n    return source(f)\n"
    "@mine\ndef Here(limit: int):\n    yield from range(limit)\n",
    "own namespace": "from penstock import source\nNAME = 'else' + 'where'\n"
    "@source(namespace=NAME)\ndef Here(limit: int):\n    yield from range(limit)\n",
}


@pytest.mark.parametrize("way", WAYS)
def test_an_operator_is_found_however_it_is_defined(tmp_path, monkeypatch, way):
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / f"way_{tmp_path.name.replace('-', '_')}.py").write_text(WAYS[way])
    use = "use elsewhere::*;\n" if way == "own namespace" else ""
    assert outputs(compile_text(use + USES.format(name="Here"), toolkits=[tmp_path]), "N") == [(0,), (1,), (2,)]


def test_a_class_inherits_its_base_and_its_namespace_from_another_file(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    unique = tmp_path.name.replace("-", "_")
    base = "from penstock import Operator\nclass Base(Operator):\n    namespace = 'deep.down'\n"
    (tmp_path / f"base_{unique}.py").write_text(base)
    (tmp_path / f"derived_{unique}.py").write_text(
        f"from base_{unique} import Base\nclass Middle(Base):\n    pass\nclass Twice(Middle):\n"
        "    def process(self, t):\n        yield t\n        yield t\n"
    )
    text = """use deep.down::Twice;
    composite Main { graph
        stream<int32 n> A = Beacon() { param iterations: 1u; }
        stream<int32 n> B = Twice(A) {}
    }"""
    assert outputs(compile_text(text, toolkits=[tmp_path]), "B") == [(0,), (0,)]


def test_two_files_that_define_one_operator_are_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    for which in "ab":
        (tmp_path / f"{which}_{tmp_path.name.replace('-', '_')}.py").write_text(SOURCE.format(name="Same"))
    with pytest.raises(UserError, match="two operators are named `Same`"):
        compile_text(USES.format(name="Same"), toolkits=[tmp_path])
