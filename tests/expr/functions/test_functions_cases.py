from __future__ import annotations

import contextlib
import copy
import errno
import io
import math
import random
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from function_cases import CASES, FAILS, KIND, LOG, OLD_LOG, TRACE, Case

from penstock.base.diagnostics import SourceFile, Span, UserError
from penstock.expr.environment import Clock, Environment
from penstock.expr.errors import EvaluationError
from penstock.expr.functions.registry import Resolved, names, overloads, resolve
from penstock.expr.values import from_arrow_array, to_arrow_array
from penstock.ir.types import VOID, parse_type

TESTED_BELOW = {
    *("random", "srand", "print", "println", "printString", "printStringLn", "flushStdio", "appTrc", "appLog", "log"),
    # Where event time is known: tests/fixtures/spl and tests/equivalence/test_intervals.py.
    *("getEventTime", "intervalStart", "intervalEnd", "paneIndex", "paneTiming"),
    *("shutdownPE", "block", "createCustomMetric", "setCustomMetricValue", "incrementCustomMetricValue"),
    *(
        "fopen",
        "fclose",
        "fflush",
        "feof",
        "freadLine",
        "freadToken",
        "freadString",
        "freadfile",
        "fread",
        "freadTxt",
        "freadBin",
        "fwriteBin",
        "fwriteTxt",
    ),
    *("fwriteString", "fwriteblob", "fwrite", "ftell", "fseek", "rewind", "clearerr", "remove", "mkdir", "fstat"),
    *(
        "getThisFileName",
        "getThisFileDir",
        "getThisFilePath",
        "getThisLine",
        "getThisToolkitDir",
        *("getHostName", "getConfiguredHostName", "getShortHostName", "getIPAddress", "instanceID", "domainID"),
        "getEnvironmentVariable",
    ),
}
"""Functions with an effect on the world, or that depend on it: each has a test of its own in this file."""


def surroundings(tmp_path: Path | None = None) -> Environment:
    return Environment(
        submission_values={"rate": ["10", "20"], "names": ["a,b"]},
        compile_values={"mode": ["fast"]},
        configurations={"db": {"host": "here"}},
        data_directory=tmp_path or Path("some/data"),
        output_directory=tmp_path or Path("some/out"),
        application_directory=Path("some/app"),
        clock=Clock(1_500_000_000),
        random=random.Random(0),
        stdout=io.StringIO(),
        channel=(2, 4),
        metrics={"seen": 7},
        relaunch_count=3,
    )


def find(name: str, *types: str) -> Resolved:
    return resolve(name, [parse_type(t) for t in types])


def invoke(environment: Environment, name: str, types: str, *arguments: Any) -> Any:
    found = find(name, *(t for t in types.split("; ") if t))
    before = (environment,) if found.definition.needs_environment else ()
    return found.bind()(*before, *arguments)


def same(found: Any, expected: Any) -> bool:
    """Equal, where NaN equals NaN and the sign of zero counts."""
    if isinstance(expected, float | Decimal) and type(found) is type(expected):
        return str(found) == str(expected)
    return bool(type(found) is type(expected) and found == expected)


@pytest.mark.parametrize("example", CASES, ids=str)
def test_a_function_does_what_its_example_says(example: Case) -> None:
    found = find(example.name, *example.types)
    arguments = copy.deepcopy(example.arguments)
    before = (surroundings(),) if found.definition.needs_environment else ()
    if example.result is FAILS:
        with pytest.raises(EvaluationError):
            found.bind()(*before, *arguments)
        return
    answer = found.bind()(*before, *arguments)
    result, *rebound = answer if found.rebinds else (answer,)
    changed = dict(zip(found.rebinds, rebound, strict=True))
    after = [changed.get(i, arguments[i]) for i in found.definition.mutable_positions]
    assert same(result, example.result)
    assert after == list(example.after)


@pytest.mark.parametrize("example", [c for c in CASES if c.result is not FAILS], ids=str)
def test_the_result_is_a_value_of_the_return_type(example: Case) -> None:
    found = find(example.name, *example.types)
    if found.return_type == VOID:
        assert example.result is None
        return
    array = to_arrow_array([example.result], found.return_type)
    assert same(from_arrow_array(array, found.return_type)[0], example.result)


@pytest.mark.parametrize("example", CASES, ids=str)
def test_what_is_not_mutable_stays_as_it_was(example: Case) -> None:
    found = find(example.name, *example.types)
    arguments = copy.deepcopy(example.arguments)
    before = (surroundings(),) if found.definition.needs_environment else ()
    with contextlib.suppress(EvaluationError):
        found.bind()(*before, *arguments)
    mutable = found.definition.mutable_positions
    for i, (argument, original) in enumerate(zip(arguments, example.arguments, strict=True)):
        assert i in mutable or same(argument, original)


def test_every_overload_has_an_example() -> None:
    shown = {str(find(c.name, *c.types).definition.prototype) for c in CASES}
    known = {str(d.prototype) for name in names() if name not in TESTED_BELOW for d in overloads(name)}
    errors = {f"boolean is{code}(int32 error)" for code in errno.errorcode.values()} | {
        "boolean isEWOULDBLOCK(int32 error)"
    }
    assert known - shown - errors == set()


def test_every_function_says_what_it_does_in_one_sentence() -> None:
    for name in names():
        for definition in overloads(name):
            assert definition.doc.endswith((".", "...")), name


def test_there_are_at_least_150_functions() -> None:
    assert len(names()) >= 150


@pytest.mark.parametrize(
    "name", [n for n in names() if n.startswith("isE") and n not in ("isEOF", "isEmpty", "isEndOfConsistentRegion")]
)
def test_error_numbers_are_recognised(name: str) -> None:
    number = getattr(errno, name.removeprefix("is"))
    assert invoke(surroundings(), name, "int32", number) is True
    assert invoke(surroundings(), name, "int32", 0) is False


def test_print_writes_values_in_their_text_form() -> None:
    environment = surroundings()
    invoke(environment, "print", "rstring", "a")
    invoke(environment, "println", "tuple<int32 n, rstring s>", (1, "x"))
    invoke(environment, "printString", "rstring", "b")
    invoke(environment, "printStringLn", "ustring", "c")
    invoke(environment, "flushStdio", "")
    assert environment.stdout.getvalue() == '"a"{n=1,s="x"}\nbc\n'  # type: ignore[attr-defined]


def test_log_messages_reach_the_log_with_their_level() -> None:
    found: list[tuple[str, str]] = []
    environment = surroundings()
    environment.log = lambda level, message: found.append((level, message))
    invoke(environment, "appTrc", f"{TRACE}; rstring", "debug", "a")
    invoke(environment, "appTrc", f"{TRACE}; rstring; rstring", "warn", "b", "net")
    invoke(environment, "appLog", f"{LOG}; rstring", "error", "c")
    invoke(environment, "appLog", f"{LOG}; rstring; rstring", "info", "d", "db")
    invoke(environment, "log", f"{OLD_LOG}; rstring", "trace", "e")
    invoke(environment, "log", f"{OLD_LOG}; rstring; rstring", "info", "f", "x")
    assert found == [
        ("debug", "a"),
        ("warn", "net: b"),
        ("error", "c"),
        ("info", "db: d"),
        ("trace", "e"),
        ("info", "x: f"),
    ]


def test_random_numbers_follow_from_the_seed() -> None:
    environment = surroundings()
    assert invoke(environment, "srand", "int32", 7) == 0
    first = [invoke(environment, "random", ""), *invoke(environment, "random", "int32", 3)]
    invoke(environment, "srand", "int32", 7)
    assert first == [invoke(environment, "random", "") for _ in range(4)]
    assert all(0 <= x < 1 for x in first)


def test_block_lets_time_pass() -> None:
    environment = surroundings()
    invoke(environment, "block", "float64", 2.5)
    invoke(environment, "block", "float64", -1.0)
    assert environment.clock.now_ns == 4_000_000_000


def test_shutdown_asks_the_application_to_stop() -> None:
    environment = surroundings()
    invoke(environment, "shutdownPE", "")
    assert invoke(environment, "isShutdown", "") is True


def test_custom_metrics_are_made_set_and_counted() -> None:
    environment = surroundings()
    invoke(environment, "createCustomMetric", f"rstring; rstring; {KIND}", "n", "number", "Gauge")
    invoke(environment, "createCustomMetric", f"rstring; rstring; {KIND}; int64", "m", "more", "Counter", 5)
    invoke(environment, "setCustomMetricValue", "rstring; int64", "n", 3)
    invoke(environment, "incrementCustomMetricValue", "rstring; int64", "m", 2)
    assert environment.metrics == {"seen": 7, "n": 3, "m": 7}


def test_an_environment_variable_or_its_substitute_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_TEST", "yes")
    monkeypatch.delenv("PENSTOCK_MISSING", raising=False)
    assert invoke(surroundings(), "getEnvironmentVariable", "rstring", "PENSTOCK_TEST") == "yes"
    assert invoke(surroundings(), "getEnvironmentVariable", "rstring", "PENSTOCK_MISSING") == ""
    assert invoke(surroundings(), "getEnvironmentVariable", "rstring; rstring", "PENSTOCK_MISSING", "no") == "no"
    told = "getEnvironmentVariable", "rstring; boolean"
    assert invoke(surroundings(), *told, "PENSTOCK_TEST", False) == ("yes", True)
    assert invoke(surroundings(), *told, "PENSTOCK_MISSING", True) == ("", False)


def test_a_temporary_file_is_made_after_a_pattern(tmp_path) -> None:
    environment = replace(surroundings(), output_directory=tmp_path)
    made = [invoke(environment, "mktemp", "rstring", "part-XXXXXX") for _ in range(2)]
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(made)
    assert all(name.startswith("part-") and "X" * 6 not in name for name in made)
    assert invoke(environment, "mktemp", "rstring", "missing/part-XXXXXX") == ""


def test_the_host_and_the_user_are_told() -> None:
    name, short = (invoke(surroundings(), f, "") for f in ("getHostName", "getShortHostName"))
    assert name.partition(".")[0] == short == invoke(surroundings(), "getConfiguredHostName", "").partition(".")[0]
    assert invoke(surroundings(), "getIPAddress", "").count(".") == 3
    assert invoke(surroundings(), "instanceID", "") == invoke(surroundings(), "domainID", "")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("getSubmissionTimeValue", "no value was given for the submission-time value `none`; add --set none=VALUE"),
        ("getSubmissionTimeListValue", "no value was given for the submission-time value `none`; add --set none=VALUE"),
        ("getCompileTimeValue", "no value was given for the compile-time value `none`; add --set none=VALUE"),
        ("getCompileTimeListValue", "no value was given for the compile-time value `none`; add --set none=VALUE"),
    ],
)
def test_a_value_that_was_not_given_is_named(name: str, message: str) -> None:
    with pytest.raises(UserError) as error:
        invoke(surroundings(), name, "rstring", "none")
    assert str(error.value) == f"error: {message}"


def test_a_call_knows_where_it_is_written() -> None:
    span = Span(source=SourceFile(path="apps/main.spl", text="one\ntwo"), start=5, end=6)
    answers = {name: find(name).definition.implementation(span) for name in names() if name.startswith("getThis")}
    assert answers == {
        "getThisFileName": "main.spl",
        "getThisFileDir": str(Path("apps").absolute()),
        "getThisFilePath": str(Path("apps/main.spl").absolute()),
        "getThisLine": 2,
        "getThisToolkitDir": str(Path("apps").absolute()),
    }
    with pytest.raises(EvaluationError):
        find("getThisLine").definition.implementation(None)


@pytest.mark.parametrize(
    ("path", "namespace", "folder"),
    [("kit/my.app/Main.spl", "my.app", "kit"), ("kit/my/app/Main.spl", "my.app", "kit"), ("x/Main.spl", "my.app", "x")],
)
def test_a_toolkit_is_where_the_folders_of_its_namespaces_lie(path: str, namespace: str, folder: str) -> None:
    span = Span(source=SourceFile(path=path, text=f"namespace {namespace};"), start=0, end=1)
    assert find("getThisToolkitDir").definition.implementation(span) == str(Path(folder).absolute())


def test_a_file_is_written_and_read_line_by_line(tmp_path: Path) -> None:
    environment = surroundings(tmp_path)
    file, error = invoke(environment, "fopen", "rstring; rstring; int32", "out.txt", "w", 9)
    assert (file > 0, error) == (True, 0)
    assert invoke(environment, "fwriteString", "rstring; uint64; int32", "one\n", file, 9) == (None, 0)
    assert invoke(environment, "fwriteTxt", "list<rstring>; uint64; int32", ["a"], file, 9) == (None, 0)
    assert invoke(environment, "fwriteblob", "blob; uint64; int32", b"\ntwo", file, 9) == (None, 0)
    assert invoke(environment, "fwrite", "list<uint8>; uint64; uint64; uint64; int32", [65, 66, 67], file, 1, 1, 9) == (
        None,
        0,
    )
    assert invoke(environment, "fflush", "uint64; int32", file, 9) == (0, 0)
    assert invoke(environment, "fclose", "uint64; int32", file, 9) == (0, 0)
    assert (tmp_path / "out.txt").read_text() == 'one\n["a"]\ntwoB'

    file, _ = invoke(environment, "fopen", "rstring; rstring; int32", "out.txt", "r", 9)
    lines = []
    while not invoke(environment, "feof", "uint64", file):
        line, error = invoke(environment, "freadLine", "uint64; int32", file, 9)
        lines.append((line, error))
    assert lines == [("one", 0), ('["a"]', 0), ("twoB", 0)]
    assert invoke(environment, "freadLine", "uint64; int32", file, 9) == ("", -1)


def test_a_position_in_a_file_can_be_told_and_sought(tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_bytes(b'abcdef\n[1,2]\n{n=1}\n"x"\nrest')
    environment = surroundings(tmp_path)
    file, _ = invoke(environment, "fopen", "rstring; rstring; int32", "in.txt", "r", 9)
    found: list[int] = []
    assert invoke(environment, "fread", "list<uint8>; uint64; uint64; int32", found, file, 3, 9) == (3, 0)
    assert bytes(found) == b"abc"
    assert invoke(environment, "ftell", "uint64; int32", file, 9) == (3, 0)
    assert invoke(environment, "fseek", "uint64; int64; int32; int32", file, 4, 0, 9) == (None, 0)
    assert invoke(environment, "freadLine", "uint64; int32", file, 9) == ("ef", 0)
    numbers = [9]
    assert invoke(environment, "freadTxt", "list<int32>; uint64; int32", numbers, file, 9) == (None, 0)
    assert numbers == [1, 2]
    assert invoke(environment, "freadTxt", "tuple<int32 n>; uint64; int32", (0,), file, 9) == (None, (1,), 0)
    assert invoke(environment, "freadTxt", "int32; uint64; int32", 7, file, 9) == (None, 0, errno.EINVAL)
    assert invoke(environment, "freadString", "uint64; int32", file, 9) == ("rest", 0)
    assert invoke(environment, "feof", "uint64", file) is True
    invoke(environment, "clearerr", "uint64", file)
    assert invoke(environment, "feof", "uint64", file) is False
    invoke(environment, "rewind", "uint64", file)
    assert invoke(environment, "freadfile", "blob; uint64; int32", b"", file, 9)[1].startswith(b"abc")


def test_values_are_written_and_read_as_bytes(tmp_path: Path) -> None:
    environment = Environment(data_directory=tmp_path, output_directory=tmp_path)
    file, _ = invoke(environment, "fopen", "rstring; rstring; int32", "b", "w+", 9)
    long = list(range(3000))
    assert invoke(environment, "fwriteBin", "list<int32>; uint64; int32", long, file, 9) == (None, 0)
    assert invoke(environment, "fwriteBin", "complex32; uint64; int32", 1.5 - 2j, file, 9) == (None, 0)
    assert invoke(environment, "fwriteString", "rstring; uint64; int32", "\0", file, 9) == (None, 0)
    invoke(environment, "rewind", "uint64", file)
    numbers: list[int] = []
    assert invoke(environment, "freadBin", "list<int32>; uint64; int32", numbers, file, 9) == (None, 0)
    assert numbers == long
    assert invoke(environment, "freadBin", "complex32; uint64; int32", 0j, file, 9) == (None, 1.5 - 2j, 0)
    assert invoke(environment, "freadBin", "int32; uint64; int32", 7, file, 9) == (None, 7, errno.EINVAL)
    assert invoke(environment, "freadBin", "int32; uint64; int32", 7, file, 9) == (None, 7, -1)
    assert invoke(environment, "freadBin", "int32; uint64; int32", 7, 99, 9) == (None, 7, errno.EBADF)


def test_what_goes_wrong_with_a_file_is_told_by_its_number(tmp_path: Path) -> None:
    environment = surroundings(tmp_path)
    assert invoke(environment, "fopen", "rstring; rstring; int32", "none.txt", "r", 0) == (0, errno.ENOENT)
    assert invoke(environment, "fopen", "rstring; rstring; int32", "none.txt", "what", 0) == (0, errno.EINVAL)
    assert invoke(environment, "freadLine", "uint64; int32", 99, 0) == ("", errno.EBADF)
    assert invoke(environment, "fclose", "uint64; int32", 99, 0) == (-1, errno.EBADF)
    assert invoke(environment, "remove", "rstring; int32", "none.txt", 0) == (None, errno.ENOENT)
    assert invoke(environment, "feof", "uint64", 99) is True


def test_folders_are_made_described_and_removed(tmp_path: Path) -> None:
    environment = surroundings(tmp_path)
    assert invoke(environment, "mkdir", "rstring; uint32; int32", "sub", 0o755, 9) == (None, 0)
    (tmp_path / "f").write_bytes(b"abc")
    stat = "rstring; rstring; uint64; int32"
    assert invoke(environment, "fstat", stat, "f", "size", 0, 9) == (None, 3, 0)
    assert invoke(environment, "fstat", stat, "f", "color", 5, 9) == (None, 5, errno.EINVAL)
    _, time, error = invoke(environment, "fstat", "rstring; rstring; timestamp; int32", "f", "mtime", 0, 9)
    assert (time, error) == ((tmp_path / "f").stat().st_mtime_ns, 0)
    assert invoke(environment, "remove", "rstring; int32", "f", 9) == (None, 0)
    assert invoke(environment, "remove", "rstring; int32", "sub", 9) == (None, 0)
    assert list(tmp_path.iterdir()) == []


def test_a_result_shares_no_collection_with_an_argument() -> None:
    rows = [[1], [2]]
    turned = find("reverse", "list<list<int32>>").bind()(rows)
    turned[0].append(9)
    assert rows == [[1], [2]]


def test_what_is_put_into_a_collection_is_a_copy() -> None:
    item = [1]
    into: list[list[int]] = []
    find("appendM", "list<list<int32>>", "list<int32>").bind()(into, item)
    item.append(2)
    assert into == [[1]]
    kept = {"a": [1]}
    find("getOrElse", "map<rstring, list<int32>>", "rstring", "list<int32>").bind()(kept, "a", []).append(5)
    assert kept == {"a": [1]}


def test_logarithms_of_what_has_none_are_answered_as_in_c() -> None:
    assert math.isnan(invoke(surroundings(), "log10", "float64", -1.0))
    assert invoke(surroundings(), "log2", "float64", 0.0) == -math.inf


def test_a_file_is_read_by_words_and_described_while_it_is_open(tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_bytes(b"  one two\n\nthree")
    environment = surroundings(tmp_path)
    file, _ = invoke(environment, "fopen", "rstring; rstring; int32", "in.txt", "r", 9)
    words = [invoke(environment, "freadToken", "uint64; int32", file, 9) for _ in range(4)]
    assert words == [("one", 0), ("two", 0), ("three", 0), ("", -1)]
    assert invoke(environment, "feof", "uint64", file) is True
    assert invoke(environment, "fstat", "uint64; rstring; uint64; int32", file, "size", 0, 9) == (None, 16, 0)
    changed = (tmp_path / "in.txt").stat().st_mtime_ns
    assert invoke(environment, "fstat", "uint64; rstring; timestamp; int32", file, "mtime", 0, 9) == (None, changed, 0)
    assert invoke(environment, "fstat", "uint64; rstring; uint64; int32", 99, "size", 7, 9) == (None, 7, errno.EBADF)
