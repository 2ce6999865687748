"""No two jobs write one file."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import ExitStack

import pytest

from penstock.base.diagnostics import UserError
from penstock.base.holders import decode_holder, this_process
from penstock.expr.environment import Environment
from penstock.lang import compile_text
from penstock.toolkit.files.output_locks import hold_outputs, outputs_of


def _program(*files, more=""):
    sinks = "\n".join(f"() as S{n} = FileSink(A) {{ param file: {file}; {more} }}" for n, file in enumerate(files))
    text = f"composite Main {{ graph stream<int32 x, rstring s> A = Beacon() {{ param iterations: 1u; }} {sinks} }}"
    return compile_text(text).application


def test_a_second_job_that_writes_a_file_is_refused_and_told_who_holds_it(tmp_path):
    environment = Environment(output_directory=tmp_path)
    with hold_outputs(_program('"a.csv"', '"b.csv"'), environment):
        held = (
            rf"FileSink `S0` cannot write `{tmp_path}/b.csv`: it is being written by process {os.getpid()} on .*since"
        )
        with pytest.raises(UserError, match=held), hold_outputs(_program('"b.csv"'), environment):
            raise AssertionError
        with hold_outputs(_program('"c.csv"'), environment):
            pass
    with hold_outputs(_program('"b.csv"'), environment):
        pass
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("more", ["format: parquet;", "partitionBy: s;"])
def test_folders_are_files_too(tmp_path, more):
    environment = Environment(output_directory=tmp_path)
    with (
        hold_outputs(_program('"sub/parts"', more=more), environment),
        pytest.raises(UserError, match=f"`{tmp_path}/sub/parts`: it is being written"),
        hold_outputs(_program(f'"{tmp_path}/x/../sub/parts"', more=more), environment),
    ):
        raise AssertionError


@pytest.mark.parametrize("more", ["", "format: parquet;", "partitionBy: s;"])
def test_two_sinks_of_a_job_do_not_write_one_file(more, tmp_path):
    twice = _program('"parts"', f'"{tmp_path}/x/../parts"', more=more)
    with (
        pytest.raises(UserError, match=f"`S0` and `S1` both write `{tmp_path}/parts`"),
        hold_outputs(twice, Environment(output_directory=tmp_path)),
    ):
        raise AssertionError
    assert outputs_of(_program('"/dev/null"', '"/dev/null"', "s", "s"), Environment(output_directory=tmp_path))


def test_names_that_depend_on_tuples_have_one_lock_so_that_a_job_does_not_run_twice(tmp_path):
    environment = Environment(output_directory=tmp_path)
    with (
        hold_outputs(_program("s"), environment),
        pytest.raises(UserError, match=r"files of Main\.S0`: it is being written"),
        hold_outputs(_program("s"), environment),
    ):
        raise AssertionError


def test_devices_are_not_locked_and_names_with_placeholders_as_they_are_written(tmp_path):
    application = _program('"/dev/null"', "s", '"a.csv"', '"file:///tmp/x-{id}.csv"')
    found = outputs_of(application, Environment(output_directory=tmp_path))
    assert [str(path) for path in found] == [
        f"{tmp_path}/files of Main.S1",
        f"{tmp_path}/a.csv",
        "/tmp/x-{id}.csv",
    ]
    with ExitStack() as two:
        for _ in range(2):
            two.enter_context(hold_outputs(_program('"/dev/null"'), Environment(output_directory=tmp_path)))


def test_the_lock_of_a_killed_job_is_free(tmp_path):
    code = (
        "import fcntl, os, signal\n"
        f"d = os.open({str(tmp_path / '.a.csv.lock')!r}, os.O_RDWR | os.O_CREAT)\n"
        "fcntl.flock(d, fcntl.LOCK_EX)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=False)
    assert (tmp_path / ".a.csv.lock").exists()
    with hold_outputs(_program('"a.csv"'), Environment(output_directory=tmp_path)):
        assert decode_holder((tmp_path / ".a.csv.lock").read_bytes()).process == this_process().process
    assert list(tmp_path.iterdir()) == []


def test_who_takes_a_checkpoint_over_takes_its_files_too_and_keeps_them(tmp_path):
    environment, me = Environment(output_directory=tmp_path), this_process().process
    with ExitStack() as new:
        with hold_outputs(_program('"a.csv"'), environment):
            new.enter_context(hold_outputs(_program('"a.csv"'), environment, predecessor=me))
        # The end of the earlier one leaves the lock of the later one alone.
        with (
            pytest.raises(UserError, match="is being written"),
            hold_outputs(_program('"a.csv"'), environment),
        ):
            raise AssertionError
    assert list(tmp_path.iterdir()) == []


def test_an_output_that_is_not_local_is_refused_by_name(tmp_path):
    with pytest.raises(UserError, match=r"the output `s3a://b/x.csv` is of the kind `s3a`, which is not supported yet"):
        outputs_of(_program('"s3a://b/x.csv"'), Environment(output_directory=tmp_path))
