from __future__ import annotations

from pathlib import Path

import pytest

from penstock.base.diagnostics import UserError
from penstock.expr.functions.functions_page import reference
from penstock.expr.functions.overloads import choose_overload
from penstock.expr.functions.prototypes import parse_prototype
from penstock.expr.functions.registry import names, overloads, resolve
from penstock.expr.functions.symbols import SYSTEM_TYPES, symbol_type
from penstock.ir.types import FLOAT64, INT32, INT64, RSTRING, VOID, ListType, Type, is_numeric, parse_type

ROOT = Path(__file__).parents[3]


def widens(types: list[Type]):
    """Whether a number may become another kind of number."""
    order = [INT32, INT64, FLOAT64]

    def converts(position: int, wanted: Type) -> bool:
        found = types[position]
        return found in order and wanted in order and order.index(found) < order.index(wanted)

    return converts


def find(name: str, *texts: str):
    types = [parse_type(t) for t in texts]
    return resolve(name, types, widens(types))


@pytest.mark.parametrize("name", names())
def test_a_prototype_prints_as_text_that_reads_back(name: str) -> None:
    for definition in overloads(name):
        assert parse_prototype(str(definition.prototype)) == definition.prototype


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("nonsense", "`nonsense` is not a prototype: expected `type name(parameters)`"),
        ("int32 f(int32)", "`int32` is not a parameter: expected `[mutable] type name`"),
        ("<odd T> T f(T x)", "`odd` is not a constraint"),
        ("int33 f()", "`int33` is not a type: there is no type `int33`"),
    ],
)
def test_text_that_is_no_prototype_is_refused(text: str, reason: str) -> None:
    with pytest.raises(ValueError) as error:  # noqa: PT011 (the message is compared)
        parse_prototype(text)
    assert str(error.value).startswith(reason)


def test_a_type_variable_takes_the_type_that_all_arguments_convert_to() -> None:
    found = find("max", "int32", "float64")
    assert [str(t) for t in found.parameter_types] == ["float64", "float64"]
    assert found.return_type == FLOAT64


def test_an_exact_overload_wins_over_a_conversion() -> None:
    assert str(find("add", "timestamp", "int64").definition.prototype).endswith("int64 nanoseconds)")
    assert str(find("add", "timestamp", "float64").definition.prototype).endswith("float64 seconds)")


def test_an_integer_becomes_a_float_where_only_floats_are_allowed() -> None:
    assert str(find("sin", "int32").return_type) == "float64"


def test_a_mutable_argument_is_never_converted() -> None:
    with pytest.raises(UserError):
        find("strtod", "rstring", "int64")
    with pytest.raises(UserError):
        find("appendM", "list<int32>", "int64")


def test_an_item_is_converted_to_the_elements_of_the_list_it_goes_into() -> None:
    assert [str(t) for t in find("appendM", "list<int64>", "int32").parameter_types] == ["list<int64>", "int64"]


def test_bounds_do_not_stand_in_the_way_and_do_not_spread() -> None:
    found = find("concat", "rstring[4]", "rstring")
    assert [str(t) for t in found.parameter_types] == ["rstring[4]", "rstring"]
    assert found.return_type == RSTRING
    assert str(find("sort", "list<int32>[3]").return_type) == "list<int32>"


def test_what_goes_into_a_list_of_bounded_strings_must_be_converted_to_one() -> None:
    prototype = overloads("appendM")
    types = [parse_type("list<rstring[2]>"), RSTRING]
    assert choose_overload([d.prototype for d in prototype], types) is None
    chosen = choose_overload([d.prototype for d in prototype], types, lambda i, t: str(t) == "rstring[2]")
    assert chosen is not None
    assert [str(t) for t in chosen.parameter_types] == ["list<rstring[2]>", "rstring[2]"]


def test_an_empty_list_takes_the_type_that_another_argument_gives() -> None:
    types = [parse_type("list<int32>"), ListType(VOID)]
    found = resolve("concat", types, lambda i, t: i == 1 and isinstance(t, ListType))
    assert str(found.return_type) == "list<int32>"


def test_a_call_of_an_unknown_function_names_a_near_one() -> None:
    with pytest.raises(UserError) as error:
        find("tokenise", "rstring")
    assert str(error.value) == "error: there is no function `tokenise`; did you mean `tokenize`?"


def test_a_call_with_wrong_arguments_lists_the_overloads() -> None:
    with pytest.raises(UserError) as error:
        find("length", "int32")
    assert str(error.value) == ("error: no function `length` takes (int32); there is `<string T> int32 length(T str)`")


def test_new_values_come_back_only_for_what_python_cannot_change() -> None:
    assert find("appendM", "list<int32>", "int32").rebinds == ()
    assert find("appendM", "blob", "uint8").rebinds == (0,)
    assert find("swap", "int32", "int32").rebinds == (0, 1)
    assert find("fread", "list<uint8>", "uint64", "uint64", "int32").rebinds == (3,)


def test_functions_that_touch_the_world_are_stateful() -> None:
    for name in ("println", "random", "getTimestamp", "fopen", "setCustomMetricValue", "getChannel", "abort"):
        assert all(d.stateful for d in overloads(name)), name
    for name in ("length", "sqrt", "appendM", "hashCode", "getSubmissionTimeValue"):
        assert not any(d.stateful for d in overloads(name)), name


def test_every_number_has_the_functions_of_numbers() -> None:
    for name in ("int8", "uint64", "float32", "float64", "decimal64"):
        assert is_numeric(find("abs", name).return_type)
        assert str(find("sum", f"list<{name}>").return_type) == name


def test_system_symbols_belong_to_their_enumerations() -> None:
    assert symbol_type("Sys.FinalMarker") == SYSTEM_TYPES["Sys.Punctuation"]
    assert symbol_type("Sys.Counter") == SYSTEM_TYPES["Sys.Kind"]
    assert symbol_type("Log.warn") == SYSTEM_TYPES["Log.Level"]
    assert symbol_type("Trace.trace") == SYSTEM_TYPES["Trace.Level"]
    assert symbol_type("Log.trace") is None
    assert symbol_type("nothing") is None


def test_the_reference_in_the_docs_is_the_one_that_the_functions_make() -> None:
    written = (ROOT / "docs" / "reference" / "functions.md").read_text(encoding="utf-8")
    assert written == reference(), "run python -m penstock.expr.functions.functions_page > docs/reference/functions.md"
