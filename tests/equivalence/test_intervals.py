"""SPL's windows by event time give what a plain computation gives, in the reference and however a program is cut."""

from __future__ import annotations

from random import Random

import pytest

from equivalence.test_keyed_operators import cut_and_run, written
from penstock.lang import compile_text
from penstock.reference import run

Row = tuple[int, int]


def draw_rows(rng: Random) -> list[Row]:
    """Times in milliseconds that go on with some disorder, and values."""
    now, rows = rng.choice([0, 0, 20_000, 1_700_000_000_000]), []
    for x in range(rng.choice([0, 1, 9, 70])):
        now += rng.choice([0, 0, 400, 1000, 1000, 2500, 7000])
        rows.append((max(0, now - rng.choice([0, 0, 0, 500, 1000, 3000, 9000])), x))
    return rows


def compute(rows: list[Row], size: int, period: int, offset: int, age: int, lag: int, gap: int, keys: int) -> list[str]:
    """What is sent, in order, as the Custom of the program prints it."""
    sent: list[str] = []
    panes: dict[int, list[Row]] = {}
    fresh: dict[int, list[int]] = {}
    times: dict[int, int] = {}
    reached = watermark = due = 0
    for at, x in rows:
        if x % 4 != 3 and at >= watermark - age:
            for start in (
                s for s in range(max(0, at - size - at % period - period), at + 1) if s % period == offset % period
            ):
                if start <= at < start + size:
                    panes.setdefault(start, []).append((at, x))
                    fresh.setdefault(start, []).append(x % keys)
        if at - lag <= reached:
            continue
        reached = at - lag
        if reached < due:
            continue
        watermark, due = reached, reached + gap
        for start in sorted(s for s in panes if s + size <= watermark):
            new = fresh.pop(start, [])
            for key in dict.fromkeys(x % keys for _, x in panes[start]):
                if key in new:
                    xs = ",".join(str(x) for _, x in panes[start] if x % keys == key)
                    timing = "paneLate" if times.get(start) else "paneOnComplete"
                    sent.append(f"{start} {start + size} {times.get(start, 0)} {timing} [{xs}]")
            times[start] = times.get(start, 0) + bool(new)
            if start + size + age <= watermark:
                del panes[start]
    return sent


def program_text(rows: list[Row], size: int, period: int, offset: int, age: int, lag: int, gap: int, keys: int) -> str:
    seconds = [f"{ms / 1000:.3f}" for ms in (size, period, offset, age, lag, gap)]
    lists = [
        f"[{', '.join(f'{v}{suffix}' for v in values)}]"
        for values, suffix in (([at for at, _ in rows], "l"), ([x for _, x in rows], ""))
    ]
    by = ", partitioned; param partitionBy: x % " + str(keys) if keys > 1 else ""
    ms = "(rstring) int64TicksFromTimestamp"
    return f"""composite Main {{ graph
      @eventTime(eventTimeAttribute=at, lag={seconds[4]}, minimumGap={seconds[5]})
      stream<int64 at, int32 x> Rows = Custom() {{ logic onProcess: {{
        list<int64> times = (list<int64>) {lists[0]}; list<int32> values = (list<int32>) {lists[1]};
        for (int32 i in range(size(times))) submit({{at = times[i], x = values[i]}}, Rows);
      }} }}
      stream<Rows> Some = Filter(Rows) {{ param filter: x % 4 != 3; }}
      stream<rstring line> Lines = Aggregate(Some) {{
        window Some: timeInterval, intervalDuration({seconds[0]}), creationPeriod({seconds[1]}),
          intervalOffset({seconds[2]}), discardAge({seconds[3]}){by};
        output Lines: line = {ms}(intervalStart(), Sys.Milliseconds) + " " +
          {ms}(intervalEnd(), Sys.Milliseconds) + " " + (rstring) paneIndex() + " " + (rstring) paneTiming() + " " +
          (rstring) Collect(x);
      }}
      () as Out = FileSink(Lines) {{ param file: "lines.txt"; format: line; }} }}"""


@pytest.mark.parametrize("start", range(0, 60, 20))
def test_panes_are_those_of_a_plain_computation_however_a_program_is_cut(start):
    for seed in range(start, start + 20):
        rng = Random(seed)
        rows = draw_rows(rng)
        size, period = rng.choice([(5000, 5000), (6000, 2000), (5000, 2000), (2000, 3000)])
        offset = rng.choice([0, 0, 1000, 1999])
        age, lag, gap = rng.choice([0, 2000, 10_000]), rng.choice([0, 500, 3000]), rng.choice([0, 100, 4000])
        case = (rows, size, period, offset, age, lag, gap, rng.choice([1, 3]))
        program = compile_text(program_text(*case))
        files = written(lambda surroundings, made=program: run(made, environment=surroundings))
        assert files is not None
        assert files["lines.txt"].decode().splitlines() == compute(*case), f"seed {seed}"
        assert cut_and_run(rng, program) == files, f"seed {seed}"
