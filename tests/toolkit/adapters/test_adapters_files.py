"""FileSource, FileSink, DirectoryScan, Parse and Format."""

import gzip
import os

import pytest

from penstock.base.diagnostics import UserError
from penstock.expr.typing import binary, literal, tuple_literal
from penstock.ir.expressions import OutputCall
from penstock.ir.types import BLOB, INT64, RSTRING, UINT64
from toolkit.harness import WINDOW, attribute, build, errors, run, start, word

PERSON = "rstring name, int32 age"
ROWS = [("Ada", 36), ("Bob", 40)]


def produced(operator, data):
    return [item for _, item in start(operator, data=data).produce()]


@pytest.fixture
def people(tmp_path):
    (tmp_path / "people.csv").write_text("Ada,36\nBob,40\n")
    return tmp_path


def test_file_source_reads_a_file_and_ends_with_a_marker(people):
    assert produced(build("FileSource", [], [PERSON], {"file": "people.csv"}), people) == [*ROWS, WINDOW]


def test_file_source_reads_compressed_files(tmp_path):
    (tmp_path / "f.gz").write_bytes(gzip.compress(b"Ada,36\n"))
    operator = build("FileSource", [], [PERSON], {"file": "f.gz", "compression": word("gzip")})
    assert produced(operator, tmp_path) == [("Ada", 36), WINDOW]


def test_file_source_waits_where_the_file_says_so(tmp_path):
    (tmp_path / "f").write_text("0.5, Ada, 36\n1.0, Bob, 40\n")
    operator = build("FileSource", [], [PERSON], {"file": "f", "hasDelayField": True, "initDelay": 2.0})
    assert start(operator, data=tmp_path).produce() == [(2.5, ROWS[0]), (3.5, ROWS[1]), (3.5, WINDOW)]


def test_a_malformed_record_fails_the_source_by_default(tmp_path):
    (tmp_path / "f").write_text("Ada,x\n")
    with pytest.raises(UserError, match="Ada,x: attribute `age`: `x` is not an integer"):
        produced(build("FileSource", [], [PERSON], {"file": "f"}), tmp_path)


def test_permissive_parsing_sets_malformed_records_aside(tmp_path):
    (tmp_path / "f").write_text("Ada,36\nEve\nBob,40\n")
    h = start(build("FileSource", [], [PERSON], {"file": "f", "parsing": word("permissive")}), data=tmp_path)
    assert [item for _, item in h.produce()] == [*ROWS, WINDOW]
    assert h.rejected == [("Eve", "expected 2 values, found 1")]


def test_attributes_that_are_assigned_are_not_read(people):
    number = OutputCall(type=INT64, function="TupleNumber", arguments=())
    name = OutputCall(type=RSTRING, function="FileName", arguments=())
    schema = "int64 n, rstring name, int32 age, rstring source"
    assign = {"n": binary("+", number, literal(1, INT64)), "source": binary("+", name, literal("!"))}
    operator = build("FileSource", [], [schema], {"file": "people.csv"}, assign=assign)
    assert produced(operator, people) == [(1, "Ada", 36, "people.csv!"), (2, "Bob", 40, "people.csv!"), WINDOW]


def test_empty_fields_take_the_default_tuple_converted_to_the_schema(tmp_path):
    (tmp_path / "f").write_text(",\n")
    default = tuple_literal(["name", "age"], [literal("foo"), literal(19)])
    operator = build("FileSource", [], ["rstring name, int64 age"], {"file": "f", "defaultTuple": default})
    assert produced(operator, tmp_path) == [("foo", 19), WINDOW]
    wrong = tuple_literal(["name"], [literal("foo")])
    (message,) = errors("FileSource", [], [PERSON], {"file": "f", "defaultTuple": wrong})
    assert message.startswith("`defaultTuple` has the type tuple<rstring name>")


def test_a_missing_file_is_a_users_error(tmp_path):
    with pytest.raises(UserError, match="FileSource `Op` cannot open `nope`: No such file or directory"):
        produced(build("FileSource", [], [PERSON], {"file": "nope"}), tmp_path)


def test_files_named_by_tuples_are_read_one_after_the_other(people):
    (people / "more.csv").write_text("Eve,20\n")
    operator = build("FileSource", ["rstring f"], [PERSON, "rstring f, int32 e"], {"ignoreOpenErrors": True})
    h = run(operator, ("people.csv",), ("nope",), ("more.csv",), data=people)
    assert h.all() == [*ROWS, WINDOW, ("Eve", 20), WINDOW]
    assert h.sent(1) == [("people.csv", 0), ("nope", 2), ("more.csv", 0)]


def test_a_hot_file_is_read_once_with_a_warning(people):
    logged = []
    operator = build("FileSource", [], [PERSON], {"file": "people.csv", "hotFile": True})
    h = start(operator, data=people, log=lambda level, message: logged.append((level, message)))
    assert [item for _, item in h.produce()] == [*ROWS, WINDOW]
    assert logged == [("warn", "FileSource `Op` reads `people.csv` once, although it is a hot file")]


def test_files_with_delays_named_by_tuples_keep_their_order(tmp_path):
    (tmp_path / "a").write_text("1, A, 1\n1, B, 2\n")
    (tmp_path / "b").write_text("1, C, 3\n")
    operator = build("FileSource", ["rstring f"], [PERSON], {"hasDelayField": True, "initDelay": 1.0})
    h = start(operator, data=tmp_path).feed(("a",), ("b",))
    assert h.advance(2).all() == [("A", 1)]
    assert h.end().all() == [("A", 1), ("B", 2), WINDOW, ("C", 3), WINDOW]
    assert h.environment.clock.now_ns == 4 * 10**9


def test_a_file_can_be_deleted_or_moved_when_it_has_been_read(people):
    (people / "done").mkdir()
    produced(build("FileSource", [], [PERSON], {"file": "people.csv", "moveFileToDirectory": "done"}), people)
    assert (people / "done" / "people.csv").exists()
    produced(build("FileSource", [], [PERSON], {"file": "done/people.csv", "deleteFile": True}), people)
    assert not (people / "done" / "people.csv").exists()


def test_a_broken_compressed_file_is_malformed(tmp_path):
    (tmp_path / "f").write_bytes(gzip.compress(b"Ada,36\n")[:-3])
    params = {"file": "f", "compression": word("gzip"), "parsing": word("permissive")}
    h = start(build("FileSource", [], [PERSON], params), data=tmp_path)
    h.produce()
    assert h.rejected == [("f", "cannot be read to its end: not a whole gzip file: the data end too early")]


@pytest.mark.parametrize(
    ("inputs", "outputs", "params", "message"),
    [
        ([], [PERSON], {}, "a FileSource has either an input port or the parameter `file`, found neither"),
        (
            ["rstring f"],
            [PERSON],
            {"file": "f"},
            "a FileSource has either an input port or the parameter `file`, found",
        ),
        (
            ["int32 f"],
            [PERSON],
            {},
            "the input of a FileSource has one attribute, the file's name, found tuple<int32 f>",
        ),
        ([], [PERSON], {"file": "f", "format": word("line")}, "the format line holds exactly one attribute"),
        ([], [PERSON], {"file": "f", "format": word("block")}, "the format block holds exactly one attribute"),
        ([], [PERSON], {"file": "f", "format": word("txt"), "separator": "|"}, "`separator` goes with the format csv"),
        ([], [PERSON], {"file": "f", "blockSize": 5}, "`blockSize` goes with the format block, but the format is csv"),
    ],
)
def test_what_does_not_go_together_is_refused(inputs, outputs, params, message):
    assert errors("FileSource", inputs, outputs, params)[0].startswith(message)


def test_the_second_output_of_a_file_source_has_a_name_and_a_number():
    (message,) = errors("FileSource", [], [PERSON, "int32 e"], {"file": "f"})
    assert message == "the second output of a FileSource has an rstring and an int32, found tuple<int32 e>"


def sink(params, schema=PERSON, outputs=()):
    return build("FileSink", [schema], outputs, params)


def test_file_sink_writes_csv(tmp_path):
    run(sink({"file": "out/people.csv"}), *ROWS, output=tmp_path)
    assert (tmp_path / "out" / "people.csv").read_text() == '"Ada",36\n"Bob",40\n'


def test_file_sink_makes_its_file_even_without_tuples(tmp_path):
    run(sink({"file": "f"}), output=tmp_path)
    assert (tmp_path / "f").read_text() == ""


def test_file_sink_replaces_or_appends(tmp_path):
    for _ in range(2):
        run(sink({"file": "f"}), ROWS[0], output=tmp_path)
    assert (tmp_path / "f").read_text() == '"Ada",36\n'
    run(sink({"file": "f", "append": True}), ROWS[1], output=tmp_path)
    assert (tmp_path / "f").read_text() == '"Ada",36\n"Bob",40\n'


def test_file_sink_leaves_suppressed_attributes_out(tmp_path):
    run(sink({"file": "f", "suppress": attribute("name", PERSON)}), *ROWS, output=tmp_path)
    assert (tmp_path / "f").read_text() == "36\n40\n"


def test_file_sink_writes_markers_on_request(tmp_path):
    start(sink({"file": "f", "writePunctuations": True}), output=tmp_path).feed(ROWS[0]).mark().end()
    text = '"Ada",36\nPunctuation received: WindowMarker\nPunctuation received: FinalMarker\n'
    assert (tmp_path / "f").read_text() == text


def test_file_sink_writes_delays_on_request(tmp_path):
    h = start(sink({"file": "f", "hasDelayField": True}), output=tmp_path)
    h.advance(1.5).feed(ROWS[0]).advance(0.25).feed(ROWS[1]).end()
    assert (tmp_path / "f").read_text() == '1.5,"Ada",36\n0.25,"Bob",40\n'


def test_file_sink_flushes_every_so_many_tuples(tmp_path):
    h = start(sink({"file": "f", "flush": 2}), output=tmp_path).feed(ROWS[0])
    assert (tmp_path / "f").read_text() == ""
    h.feed(ROWS[1], ROWS[0])
    assert (tmp_path / "f").read_text() == '"Ada",36\n"Bob",40\n'


def test_file_sink_flushes_at_markers(tmp_path):
    start(sink({"file": "f"}), output=tmp_path).feed(ROWS[0]).mark()
    assert (tmp_path / "f").read_text() == '"Ada",36\n'


@pytest.mark.parametrize("compression", ["gzip", "zlib", "bzip2"])
def test_what_a_file_sink_compresses_a_file_source_reads(tmp_path, compression):
    params = {"file": "f", "compression": word(compression)}
    run(sink(params), *ROWS, output=tmp_path)
    assert produced(build("FileSource", [], [PERSON], params), tmp_path) == [*ROWS, WINDOW]


def names(directory):
    return sorted(os.listdir(directory))


def test_a_file_for_every_so_many_tuples(tmp_path):
    params = {"file": "f{id}", "closeMode": word("count"), "tuplesPerFile": 2}
    h = run(sink(params, outputs=["rstring f"]), *ROWS, ROWS[0], output=tmp_path)
    assert names(tmp_path) == ["f0", "f1"]
    assert h.sent() == [(str(tmp_path / "f0"),), (str(tmp_path / "f1"),)]


def test_a_file_for_each_window(tmp_path):
    h = start(sink({"file": "f{id}", "closeMode": word("punct")}), output=tmp_path)
    h.feed(*ROWS).mark().feed(ROWS[0]).mark().end()
    assert [(tmp_path / n).read_text() for n in names(tmp_path)] == ['"Ada",36\n"Bob",40\n', '"Ada",36\n']


def test_a_file_for_every_so_many_bytes(tmp_path):
    run(sink({"file": "f{id}", "closeMode": word("size"), "bytesPerFile": 10}), *ROWS, ROWS[0], output=tmp_path)
    assert names(tmp_path) == ["f0", "f1"]


def test_a_file_for_a_while(tmp_path):
    params = {"file": "f_{gmtime:%H%M%S}", "closeMode": word("time"), "timePerFile": 60.0}
    start(sink(params), output=tmp_path).feed(ROWS[0]).advance(61).feed(ROWS[1]).end()
    assert names(tmp_path) == ["f_000000", "f_000101"]


def test_a_file_for_each_name(tmp_path):
    params = {"file": attribute("name", PERSON), "closeMode": word("dynamic"), "append": True}
    run(sink(params), *ROWS, ("Ada", 1), output=tmp_path)
    assert (tmp_path / "Ada").read_text() == '"Ada",36\n"Ada",1\n'


def test_a_name_from_the_first_tuple(tmp_path):
    run(sink({"file": attribute("name", PERSON)}), *ROWS, output=tmp_path)
    assert names(tmp_path) == ["Ada"]


def test_a_closed_file_can_be_moved(tmp_path):
    run(sink({"file": "f", "moveFileToDirectory": "done"}), *ROWS, output=tmp_path)
    assert names(tmp_path / "done") == ["f"]


def test_limits_go_with_their_close_mode():
    (message,) = errors("FileSink", [PERSON], [], {"file": "f", "tuplesPerFile": 2})
    assert message == "`tuplesPerFile` goes with `closeMode: count`, and only with it; found `closeMode: never`"


def test_a_file_that_cannot_be_made_is_a_users_error(tmp_path):
    (tmp_path / "d").mkdir()
    with pytest.raises(UserError, match="FileSink `Op` cannot write to `d`: Is a directory"):
        start(sink({"file": "d"}), output=tmp_path)


@pytest.fixture
def directory(tmp_path):
    for i, name in enumerate(["b.csv", "a.csv", "c.txt", ".hidden"]):
        (tmp_path / name).write_text("x" * i)
    (tmp_path / "sub").mkdir()
    return tmp_path


def scanned(directory, params=None, schema="rstring path", **named):
    given = {"directory": ".", "sortBy": word("name")} | (params or {})
    return produced(build("DirectoryScan", [], [schema], given, **named), directory)


def test_directory_scan_gives_the_path_of_each_file(directory):
    found = scanned(directory, {"pattern": r"\.csv$"})
    assert found == [(str(directory / "a.csv"),), (str(directory / "b.csv"),)]


def test_directory_scan_sorts(directory):
    found = scanned(directory, {"order": word("descending"), "ignoreDotFiles": True})
    assert [os.path.basename(path) for (path,) in found] == ["c.txt", "b.csv", "a.csv"]


def test_directory_scan_tells_more_on_request(directory):
    size = OutputCall(type=UINT64, function="Size", arguments=())
    name = OutputCall(type=RSTRING, function="FileName", arguments=())
    found = scanned(directory, {"pattern": "c"}, "uint64 n, rstring p, rstring f", assign={"n": size, "f": name})
    assert found[-1] == (2, str(directory / "c.txt"), "c.txt")


def test_directory_scan_moves_files_before_it_names_them(directory):
    found = scanned(directory, {"pattern": "^a", "moveToDirectory": "sub"})
    assert found == [(str(directory / "sub" / "a.csv"),)]
    assert names(directory / "sub") == ["a.csv"]


def test_directory_scan_waits_and_can_ignore_what_is_there(directory):
    operator = build("DirectoryScan", [], ["rstring p"], {"directory": ".", "initDelay": 3.0, "pattern": "^a"})
    assert start(operator, data=directory).produce() == [(3.0, (str(directory / "a.csv"),))]
    assert scanned(directory, {"ignoreExistingFilesAtStartup": True}) == []


def test_directory_scan_knows_no_more_than_what_is_there(directory):
    runtime = start(build("DirectoryScan", [], ["rstring p"], {"directory": "."}), data=directory).runtime
    assert sorted(runtime._new_files()) == [".hidden", "a.csv", "b.csv", "c.txt"]
    (directory / "a.csv").unlink()
    assert (runtime._new_files(), sorted(runtime._seen)) == ([], [".hidden", "b.csv", "c.txt"])
    (directory / "a.csv").write_text("again")
    assert runtime._new_files() == ["a.csv"]


def test_directory_scan_needs_a_directory_and_a_pattern(directory):
    with pytest.raises(UserError, match="there is no directory `nope`"):
        scanned(directory, {"directory": "nope"})
    with pytest.raises(UserError, match="is not a regular expression"):
        scanned(directory, {"pattern": "("})
    (message,) = errors("DirectoryScan", [], ["int32 x"], {"directory": "."})
    assert message.startswith("`int32 x` of a DirectoryScan is not assigned")


def parsed(params, *blobs, schema=PERSON):
    return run(build("Parse", ["blob b"], [schema], params), *[(b,) for b in blobs])


def test_parse_reads_records_across_blobs():
    assert parsed({}, b"Ada,3", b"6\nBob", b",40").all() == [*ROWS, WINDOW]


def test_parse_submits_a_record_as_soon_as_it_is_complete():
    h = start(build("Parse", ["blob b"], [PERSON])).feed((b"Ada,36\nBo",))
    assert h.all() == [("Ada", 36)]


def test_parse_reads_every_format():
    assert parsed({"format": word("line")}, b"A@\n", b"B", schema="rstring l").sent() == [("A@",), ("B",)]
    assert parsed({"format": word("txt")}, b'{name="A",age=1}').sent() == [("A", 1)]
    assert parsed({"format": word("bin")}, b"\x01A\0\0", b"\0\1").sent() == [("A", 1)]
    blocks = parsed({"format": word("block"), "blockSize": 2}, b"abc", b"d", schema="blob b")
    assert blocks.sent() == [(b"ab",), (b"cd",)]


def test_parse_sets_bad_records_aside_and_says_so_of_what_follows_bad_bytes():
    h = parsed({"parsing": word("permissive")}, b"x\nAda,36\n")
    assert (h.sent(), h.rejected) == ([("Ada", 36)], [("x", "expected 2 values, found 1")])
    enum = "enum{red, green} e"
    h = parsed({"parsing": word("permissive"), "format": word("bin")}, b"\0\0\0\7", b"\0\0\0\0", schema=enum)
    assert [reason for _, reason in h.rejected] == [
        "there is no symbol 7 in an enum of 2; the rest cannot be read",
        "it follows data that cannot be read",
    ]


def test_parse_takes_its_bytes_from_an_expression():
    schema = "int32 i, blob b"
    operator = build("Parse", [schema], [PERSON], {"parseInput": attribute("b", schema)})
    assert run(operator, (1, b"Ada,36")).sent() == [("Ada", 36)]
    (message,) = errors("Parse", [schema], [PERSON])
    assert message.startswith("a Parse without `parseInput` has one input attribute, a blob")


def test_format_writes_what_parse_reads():
    output = OutputCall(type=BLOB, function="Output", arguments=())
    operator = build("Format", [PERSON], ["blob b, rstring name"], assign={"b": output})
    h = start(operator).feed(*ROWS).mark()
    assert h.all() == [(b'"Ada",36\n', "Ada"), (b'"Bob",40\n', "Bob"), WINDOW]
    assert operator.model.is_parallelizable
    assert parsed({}, *[b for b, _ in h.sent()]).sent() == ROWS


def test_format_can_write_markers_and_delays():
    output = OutputCall(type=BLOB, function="Output", arguments=())
    params = {"writePunctuations": True, "hasDelayField": True, "suppress": attribute("name", PERSON)}
    operator = build("Format", [PERSON], ["blob b"], params, assign={"b": output})
    h = start(operator).advance(1).feed(ROWS[0]).mark()
    assert h.all() == [(b"1,36\n",), (b"0,Punctuation received: WindowMarker\n",), WINDOW]
    assert not operator.model.is_parallelizable


def test_format_needs_somewhere_to_put_its_bytes():
    (message,) = errors("Format", [PERSON], [PERSON])
    assert message.startswith("the output clause of a Format never uses `Output()`")
