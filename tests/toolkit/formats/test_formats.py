"""Readers and writers of all formats, by example and by round trip."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.ir.types import BLOB, has_collection, is_decimal, is_float, parse_schema
from penstock.toolkit.core.runtime import Punctuation, Wait
from penstock.toolkit.formats import Malformed, Settings, reader, writer
from penstock.toolkit.formats.file_chunks import OutputFile, read_chunks
from penstock.toolkit.formats.lines import MOST_LINES, split_lines
from strategies import rows, schemas, types


def read(schema, text, **given):
    data = text if isinstance(text, bytes) else text.encode()
    return list(reader(parse_schema(schema), Settings(**given))(iter([data])))


def written(schema, *rows_, **given):
    write = writer(parse_schema(schema), Settings(**given)).tuple
    return b"".join(write(row) for row in rows_).decode()


PEOPLE = "rstring name, uint32 age"


@pytest.mark.parametrize(
    ("line", "row"),
    [
        ("John,40", ("John", 40)),
        ("  John , 40 ", ("John ", 40)),
        ('"Mary, and co.", 35', ("Mary, and co.", 35)),
        ("'single',1", ("single", 1)),
        (r'"a\"b\n",1', ('a"b\n', 1)),
        ('5" pipe,1', ('5" pipe', 1)),
        (",", ("", 0)),
        (",7", ("", 7)),
        ("naïve,1", ("naïve", 1)),
        ("John,40\r", ("John", 40)),
    ],
)
def test_csv_lines_are_read_as_spl_reads_them(line, row):
    assert read(PEOPLE, line + "\n") == [row]


def test_csv_reads_composite_values_as_literals():
    schema = "list<tuple<rstring city, rstring state>> l, timestamp t, map<rstring, int32> m, float64 x"
    line = '[{city="New York, City",state="NY"}], (5,100,0), {"a":1,"b":2}, 1e3\n'
    assert read(schema, line) == [([("New York, City", "NY")], 5_000_000_100, {"a": 1, "b": 2}, 1000.0)]


def test_blank_lines_and_comments_are_skipped():
    assert read(PEOPLE, "# people\n\n  # more\nA,1\n\n") == [("A", 1)]


def test_the_last_line_needs_no_end():
    assert read(PEOPLE, "A,1\nB,2") == [("A", 1), ("B", 2)]


def test_a_quoted_string_may_hold_a_line_end():
    assert read(PEOPLE, '"a\nb",1\nc,2\n') == [("a\nb", 1), ("c", 2)]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("John", "expected 2 values, found 1"),
        ("John,40,5", "expected 2 values, found 3"),
        ("John,x", "attribute `age`: `x` is not an integer"),
        ("John,-1", "attribute `age`: -1 is out of range for uint32 (0 to 4294967295)"),
        ("John,4294967296", "attribute `age`: 4294967296 is out of range for uint32 (0 to 4294967295)"),
        ('"John"x,1', 'expected `,` after "John", found `x`'),
    ],
)
def test_a_bad_line_is_malformed_with_a_reason_and_the_next_is_read(line, reason):
    assert read(PEOPLE, f"{line}\nA,1\n") == [Malformed(line, reason), ("A", 1)]


def test_an_open_quote_spoils_its_own_line_only():
    text = '"open,1\n' + "A,1\n" * 5
    assert read(PEOPLE, text) == [Malformed('"open,1', "a quote is not closed"), *[("A", 1)] * 5]
    long = '"open,1\n' + "A,1\n" * (MOST_LINES + 10) + '"B",2\n'
    assert read(PEOPLE, long)[1:] == [("A", 1)] * (MOST_LINES + 10) + [("B", 2)]


def test_bytes_that_are_not_text_spoil_their_own_line_only():
    found = read(PEOPLE, b"A,1\n\xff\xfe,2\nB,3\n")
    assert found == [("A", 1), Malformed("\\xff\\xfe,2", "not valid UTF-8"), ("B", 3)]


def test_header_lines_are_skipped():
    assert read(PEOPLE, "name,age\nA,1\n", header_lines=1) == [("A", 1)]
    assert read(PEOPLE, "x\n\nA,1\n", header_lines=2) == [("A", 1)]


def test_extra_values_are_ignored_on_request():
    assert read(PEOPLE, 'A,1,"x",y\n', ignores_extra=True) == [("A", 1)]


def test_empty_fields_take_the_default_tuple():
    assert read(PEOPLE, ",\n,5\n", defaults=("foo", 19)) == [("foo", 19), ("foo", 5)]


def test_another_separator():
    assert read(PEOPLE, "a,b|5\n", separator="|") == [("a,b", 5)]
    assert written(PEOPLE, ("a", 5), separator="|") == '"a"|5\n'


def test_delays_stand_before_the_tuple():
    assert read(PEOPLE, "1.5, A, 1\n", has_delay_field=True) == [Wait(1_500_000_000), ("A", 1)]
    assert read(PEOPLE, '2, {name="A",age=1}\n', format="txt", has_delay_field=True) == [Wait(2 * 10**9), ("A", 1)]
    (bad,) = read(PEOPLE, "x, A, 1\n", has_delay_field=True)
    assert bad.reason == "the delay `x` is not a number of seconds"


def test_txt_reads_tuple_literals():
    assert read(PEOPLE, '# x\n{name="A", age=1}\n') != [("A", 1)]
    assert read(PEOPLE, '# x\n{name="A", age=1}\n', format="txt") == [("A", 1)]
    (bad,) = read(PEOPLE, '{name="A"}\n', format="txt")
    assert isinstance(bad, Malformed)


def test_csv_writes_strings_in_quotes_unless_told_otherwise():
    assert written(PEOPLE, ('say "hi"\n', 1)) == '"say \\"hi\\"\\n",1\n'
    assert written(PEOPLE, ('say "hi"', 1), quotes_strings=False) == 'say "hi",1\n'


def test_txt_and_line_write_what_they_read():
    assert written(PEOPLE, ("A", 1), format="txt") == '{name="A",age=1}\n'
    assert written("rstring l", ("any, \"text'",), format="line") == "any, \"text'\n"
    assert read("rstring l", "a\r\nb\n\nc", format="line") == [("a\r",), ("b",), ("",), ("c",)]
    assert read("rstring l", "a\r\nb", format="line", eol_marker="\r\n") == [("a",), ("b",)]


def test_markers_are_written_as_text_or_as_bytes():
    schema = parse_schema(PEOPLE)
    assert writer(schema, Settings()).marker(Punctuation.WINDOW) == b"Punctuation received: WindowMarker\n"
    binary = Settings(format="bin", has_punctuations=True)
    data = writer(schema, binary).tuple(("A", 1)) + writer(schema, binary).marker(Punctuation.WINDOW)
    assert list(reader(schema, binary)(iter([data]))) == [("A", 1), Punctuation.WINDOW]


def test_blocks_are_of_the_size_asked_for():
    def blocks(*chunks, size=None):
        return list(reader(parse_schema("blob b"), Settings(format="block", block_size=size))(iter(chunks)))

    assert blocks(b"abc", b"def", b"g", size=2) == [(b"ab",), (b"cd",), (b"ef",), (b"g",)]
    assert blocks(b"abc", b"def") == [(b"abcdef",)]
    assert blocks() == []


def test_binary_data_that_end_early_are_malformed():
    schema = parse_schema(PEOPLE)
    data = writer(schema, Settings(format="bin")).tuple(("Ada", 36))
    found = list(reader(schema, Settings(format="bin"))(iter([data, data[:-1]])))
    assert found[0] == ("Ada", 36)
    assert found[1].reason == "the data end inside a tuple"


def test_lines_do_not_depend_on_chunks():
    text = "ab\ncdé\n\nf"
    whole = list(split_lines(iter([text.encode()])))
    singly = list(split_lines(iter([bytes([b]) for b in text.encode()])))
    assert whole == singly == ["ab", "cdé", "", "f"]


@pytest.mark.parametrize("compression", ["", "gzip", "zlib", "bzip2"])
def test_compressed_files_can_be_appended_to_and_read_back(tmp_path, compression):
    path = tmp_path / "f"
    for append, data in ((False, b"one\n"), (True, b"two\n" * 50_000)):
        with OutputFile(path, append=append, compression=compression) as file:
            file.write(data)
            file.flush()
    assert b"".join(read_chunks(path, compression)) == b"one\n" + b"two\n" * 50_000


@pytest.mark.parametrize("compression", ["gzip", "zlib", "bzip2"])
def test_a_file_that_is_not_compressed_so_is_an_error(tmp_path, compression):
    path = tmp_path / "f"
    path.write_bytes(b"plain text")
    with pytest.raises(OSError, match=r"not|Not|Invalid"):
        list(read_chunks(path, compression))


def is_exact(type_):
    """Whether text keeps every value: floats are cut to 15 digits, and an empty blob has no text to tell it by."""
    return not any(is_float(t) or t == BLOB for t in type_.walk())


@st.composite
def tables(draw, exact=False):
    schema = draw(schemas(types().filter(is_exact)) if exact else schemas())
    return schema, draw(rows(schema))


def chunked(data, size):
    return iter([data[i : i + size] for i in range(0, len(data), size)])


def round_trip(schema, table_rows, format_, size):
    """What is read back, after a check that it is written the same again."""
    chosen = Settings(format=format_)
    write = writer(schema, chosen).tuple
    data = b"".join(map(write, table_rows))
    found = list(reader(schema, chosen)(chunked(data, size)))
    assert not any(isinstance(item, Malformed) for item in found)
    assert b"".join(map(write, found)) == data
    return found


@settings(max_examples=150, deadline=None)
@given(tables(exact=True), st.sampled_from(["csv", "txt"]), st.integers(1, 50))
def test_text_that_is_written_reads_back(table, format_, size):
    schema, table_rows = table
    found = round_trip(schema, table_rows, format_, size)
    has_nan = any(is_decimal(t) for t in schema.walk())
    assert has_nan or found == table_rows


@settings(max_examples=150, deadline=None)
@given(tables(), st.integers(1, 50))
def test_binary_that_is_written_reads_back_bit_by_bit(table, size):
    schema, table_rows = table
    found = round_trip(schema, table_rows, "bin", size)
    assert has_collection(schema) or repr(found) == repr(table_rows)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200), st.sampled_from(["csv", "txt", "line", "bin", "block"]), st.integers(1, 7))
def test_any_bytes_give_tuples_or_reasons_and_never_fail(data, format_, size):
    schema = {"line": "rstring l", "block": "blob b"}.get(
        format_, "rstring s, int32 x, list<rstring> l, optional<float32> o"
    )
    items = list(reader(parse_schema(schema), Settings(format=format_))(chunked(data, size)))
    assert all(isinstance(item, tuple | Malformed) for item in items)


def test_decimals_keep_their_digits_in_every_format():
    from decimal import Decimal

    schema = "decimal64 d"
    assert is_decimal(parse_schema(schema).attributes[0].type)
    for format_ in ("csv", "txt", "bin"):
        chosen = Settings(format=format_)
        data = writer(parse_schema(schema), chosen).tuple((Decimal("1.50"),))
        assert str(read(schema, data, format=format_)[0][0]) == "1.50"


def test_a_lone_carriage_return_ends_a_record_and_the_reason_says_so():
    found = read("int32 a, rstring b, int32 c", "3,b\rc,4\n5,d,6\r7,e,8\n9\n")
    assert found == [
        Malformed("3,b", "expected 3 values, found 2; a carriage return ends the record"),
        Malformed("c,4", "expected 3 values, found 2; a carriage return ended the record before it"),
        (5, "d", 6),
        (7, "e", 8),
        Malformed("9", "expected 3 values, found 1"),
    ]


def test_half_a_character_in_an_escape_is_replaced_and_a_whole_pair_is_one():
    found = read("rstring s", '"\\ud800"\n"a\\udc00\\u0041"\n"\\ud83d\\ude00"\n')
    assert found == [("\ufffd",), ("a\ufffdA",), ("\U0001f600",)]


def test_a_carriage_return_in_quotes_belongs_to_the_string():
    assert read("int32 a, rstring b", '1,"x\ry\rz"\n2,"p\nq"\n') == [(1, "x\ry\rz"), (2, "p\nq")]
    unclosed = read("int32 a, rstring b", '1,"x\r2,y\n')
    assert unclosed == [Malformed('1,"x', "a quote is not closed; a carriage return ends the record"), (2, "y")]


def test_a_file_that_was_opened_for_us_keeps_what_it_holds(tmp_path):
    with (tmp_path / "redirected").open("wb", buffering=0) as shell:
        shell.write(b"before\n")
        with OutputFile(Path(f"/dev/fd/{shell.fileno()}")) as file:
            file.write(b"ours\n")
            assert file.record() is None
        shell.write(b"after\n")
    assert (tmp_path / "redirected").read_bytes() == b"before\nours\nafter\n"
