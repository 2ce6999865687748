"""Sessions and minutes of an out-of-order web log: what pandas finds in the sorted log, on every engine and channel."""

from __future__ import annotations

from random import Random

import pandas as pd
import pytest

from equivalence.test_keyed_operators import draw_fusion
from penstock.codegen.plan.physical import physical_plan
from penstock.expr.environment import Environment
from penstock.testing import run
from plan_runner import run_plan

LATENESS_MS = 5_000
GAP_MS = 30 * 60_000
FILES = ("sessions.csv", "by_minute.csv", "late.csv")


@pytest.fixture(scope="module")
def program(example, data):
    return example("web_logs/web_logs.py").app.program()


@pytest.fixture(scope="module")
def data(example, tmp_path_factory):
    folder = tmp_path_factory.mktemp("web_logs")
    example("web_logs/generate.py").generate(folder / "access.csv", count=3000, users=120)
    return folder


@pytest.fixture(scope="module")
def written(program, data, tmp_path_factory):
    out = tmp_path_factory.mktemp("reference")
    run(program, environment=Environment(data_directory=data, output_directory=out))
    return {name: (out / name).read_bytes() for name in FILES}


def log_of(data):
    log = pd.read_csv(data / "access.csv", names=["at", "user", "page", "bytes"])
    is_late = log["at"] < log["at"].cummax().shift(fill_value=0) - LATENESS_MS
    return log[~is_late].sort_values("at", kind="stable"), log[is_late]


def numbers(text):
    return sorted(tuple(line.replace('"', "").split(",")) for line in text.decode().splitlines())


def test_the_example_finds_what_pandas_finds_in_the_sorted_log(data, written):
    log, late = log_of(data)
    assert len(late) > 20
    late_lines = late.to_csv(index=False, header=False).splitlines()
    assert [line.replace('"', "") for line in written["late.csv"].decode().splitlines()] == late_lines
    minute = log["at"] // 60_000 * 60
    assert numbers(written["by_minute.csv"]) == sorted(
        (str(start), str(start + 60), str(n)) for start, n in minute.value_counts().items()
    )
    gap = log.groupby("user")["at"].diff()
    log["session"] = (gap.isna() | (gap > GAP_MS)).groupby(log["user"]).cumsum()
    found = log.groupby(["user", "session"]).agg(
        start=("at", "first"), last=("at", "last"), n=("at", "size"), bytes=("bytes", "sum")
    )
    assert numbers(written["sessions.csv"]) == sorted(
        (user, str(row["start"] // 1000), str((row["last"] + GAP_MS) // 1000), str(row["n"]), str(row["bytes"]))
        for (user, _), row in found.iterrows()
    )


@pytest.mark.parametrize(("channels", "turns"), [(1, 100_000), (2, 500), (3, 37)])
def test_channels_batches_and_fusion_change_no_byte(program, data, written, tmp_path, channels, turns):
    plan = physical_plan(program.application, draw_fusion(Random(channels), program.application), channels)
    run_plan(program, plan, Environment(data_directory=data, output_directory=tmp_path), turns_per_batch=turns)
    assert {name: (tmp_path / name).read_bytes() for name in FILES} == written
