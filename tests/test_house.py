"""The house in order: short modules and functions, readable folders, and tests that lie where their subject lies."""

import ast
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
PACKAGE = TESTS.parent / "src" / "penstock"
ACROSS = {"docs", "e2e", "equivalence", "examples", "fixtures", "fuzz", "hostile", "packaging", "servers", "simulation"}
"""Folders of tests that are about the whole, and of what tests need."""
MOST_MODULES, MOST_LINES, MOST_LINES_OF_FUNCTION = 25, 400, 60


@cache
def texts() -> dict[Path, str]:
    """The text of every module."""
    return {path: path.read_text(encoding="utf-8") for path in sorted(PACKAGE.rglob("*.py"))}


def modules() -> list[Path]:
    return list(texts())


def test_no_folder_has_too_many_modules_to_read() -> None:
    folders = {path.parent for path in modules()}
    counts = {str(folder.relative_to(PACKAGE)): len(list(folder.glob("*.py"))) for folder in folders}
    assert {name: n for name, n in counts.items() if n > MOST_MODULES + 1} == {}  # one is `__init__.py`


def test_every_folder_says_what_it_is() -> None:
    for folder in {path.parent for path in modules()}:
        assert ast.get_docstring(ast.parse(texts()[folder / "__init__.py"])), (
            f"{folder.relative_to(PACKAGE)}/__init__.py has no docstring"
        )


def layers() -> list[list[str]]:
    """The packages from the command line down; those of one layer know nothing of each other."""
    text = (TESTS.parent / "pyproject.toml").read_text(encoding="utf-8")
    contract = tomllib.loads(text)["tool"]["importlinter"]["contracts"][0]
    return [re.findall(r"penstock\.(\w+)", layer) for layer in contract["layers"]]


def test_no_module_has_the_name_of_one_in_a_neighbouring_layer() -> None:
    of_layer = [{p.stem for package in layer for p in (PACKAGE / package).rglob("*.py")} for layer in layers()]
    shared = [above & below - {"__init__", "__main__"} for above, below in pairwise(of_layer)]
    assert set().union(*shared) == set()


def test_no_module_is_too_long() -> None:
    lengths = {path.relative_to(PACKAGE).as_posix(): len(text.splitlines()) for path, text in texts().items()}
    assert {name: n for name, n in lengths.items() if n > MOST_LINES} == {}


def test_no_function_is_too_long() -> None:
    lengths = {name: n for path in modules() for name, n in lengths_of_functions(path)}
    assert {name: n for name, n in lengths.items() if n > MOST_LINES_OF_FUNCTION} == {}


def lengths_of_functions(path: Path) -> Iterator[tuple[str, int]]:
    """The lines of each function, its docstring apart."""
    for node in ast.walk(ast.parse(texts()[path])):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            docstring = node.body[0] if ast.get_docstring(node) else None
            apart = (docstring.end_lineno or 0) - docstring.lineno + 1 if docstring else 0
            yield (
                f"{path.relative_to(PACKAGE).as_posix()}:{node.name}",
                (node.end_lineno or 0) - node.lineno + 1 - apart,
            )


def mirrored_tests() -> list[Path]:
    own = (path.relative_to(TESTS) for path in TESTS.rglob("test_*.py"))
    return sorted(path for path in own if len(path.parts) > 1 and path.parts[0] not in ACROSS)


@pytest.mark.parametrize("test", mirrored_tests(), ids=str)
def test_a_test_lies_where_its_subject_lies(test: Path) -> None:
    folder = PACKAGE / test.parent
    assert (folder / "__init__.py").is_file(), f"there is no package penstock/{test.parent.as_posix()}"
    subjects = {folder.name} | {path.stem for path in folder.iterdir() if path.suffix in ("", ".py")}
    stem = test.stem.removeprefix("test_")
    named = any(stem == subject or stem.startswith(f"{subject}_") for subject in subjects)
    assert named, f"`{test}` names no module of penstock/{test.parent.as_posix()}, nor the package"


def test_no_two_tests_have_one_name() -> None:
    names = [path.name for path in TESTS.rglob("test_*.py")]
    assert sorted({name for name in names if names.count(name) > 1}) == []


ONCE = {
    r"graphlib|topological_sort\(": set(),
    r"\bexec\(|\bspec_from_file_location\b": {"base/modules.py"},
    r"\bmilp\b|HighsVarType": {"base/integer_program.py"},
    r"^class Deadline\b": {"base/deadline.py"},
    r"^class JsonReader\b": {"base/json_reader.py"},
    r"^def sort_topologically\b": {"base/topological_order.py"},
    r"(?<!> )\bCompiledJob\(": {"compiler/job.py"},
    r"(?<!def )\brun_on_spark\(": {"spark/job/rescaling.py"},
    # The search weighs thousands of fusions that nobody runs, so it cuts them without compiling them.
    r"^(?!.*(?:>>>|def )).*\bphysical_plan\(": {"compiler/pipeline.py", "optimizer/prediction.py"},
}
"""What the house has once, and in which module."""


@pytest.mark.parametrize("what", ONCE)
def test_what_several_packages_need_is_there_once(what: str) -> None:
    found = {p.relative_to(PACKAGE).as_posix() for p, text in texts().items() if re.search(what, text, re.MULTILINE)}
    assert found == ONCE[what]


def test_tests_on_the_shared_session_share_a_worker() -> None:
    """Another worker would open a second one for them."""
    shared = re.compile(r"\b(?:session\(\)|outcome_on_spark|run_spark\(|assert_equal_on_spark)")
    texts = {path.name: path.read_text() for path in TESTS.rglob("test_*.py")}
    on_spark = {name for name, text in texts.items() if shared.search(text)} - {Path(__file__).name}
    assert len(on_spark) > 10
    assert sorted(name for name in on_spark if 'xdist_group("spark")' not in texts[name]) == []


@pytest.mark.xdist_group("grouped")
def test_tests_of_a_group_share_a_worker(request: pytest.FixtureRequest) -> None:
    """Where tests are dealt out by group: that is done by names, which some versions of pytest let nobody set."""
    if request.config.getoption("loadgroup", default=False):
        assert request.node.nodeid.endswith("@grouped")
