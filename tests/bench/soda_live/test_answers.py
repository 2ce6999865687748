"""Whether `bench soda-live` notices an answer that is not the reference's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock.bench.soda_live import live_jobs
from penstock.bench.soda_live.answers import compare_answers
from penstock.bench.soda_live.delivered import Count, Record
from penstock.bench.soda_live.scenario import JOBS, Scenario
from penstock.expr.environment import Environment
from penstock.reference import run as run_reference

WORLD = Scenario(
    seconds=50.0,
    jobs=tuple(job for job in JOBS if job.name in ("orders", "fraud", "report")),
    cores=2,
    round_seconds=1e-7,
)
TUPLES = 60


@pytest.fixture
def out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the jobs would have written: `report` by one template, then by the other."""
    monkeypatch.setattr(live_jobs, "look_closely", lambda value, rounds: value * 31 % (rounds + 1))
    written = {}
    for template in ("report", "report_light"):
        written[template] = lines(tmp_path / template, [template], ["report"])["report"]
    found = lines(tmp_path / "both", ["orders", "fraud"], ["orders", "fraud"])
    found["report"] = written["report"][:25] + written["report_light"][25:]
    folder = tmp_path / "out"
    folder.mkdir()
    for name, text in found.items():
        (folder / f"{name}.csv").write_text("".join(f"{line}\n" for line in text))
    return folder


def lines(folder: Path, apps: list[str], names: list[str]) -> dict[str, list[str]]:
    folder.mkdir()
    for name in ("orders", "report"):
        (folder / f"{name}.json").write_text(json.dumps({"most": TUPLES}))
    programs = [getattr(live_jobs, app).program() for app in apps]
    run_reference(programs, environment=Environment(data_directory=folder, output_directory=folder))
    return {name: (folder / f"{name}.csv").read_text().splitlines() for name in names}


def record(**given: int) -> Record:
    found = Record(start=0.0)
    for job in WORLD.jobs:
        count = given.get(job.name, TUPLES)
        found.note({job.name: Count(at=1.0, given=count, taken=count, template=job.templates[0].id)})
    return found


def test_answers_of_both_templates_and_of_one_who_follows_are_right(out: Path, tmp_path: Path) -> None:
    assert set(compare_answers(WORLD, record(), out, tmp_path / "r").values()) == {True}
    # The last batch was written, and nobody has heard of it.
    assert set(compare_answers(WORLD, record(orders=50, report=40), out, tmp_path / "s").values()) == {True}


@pytest.mark.parametrize(
    "spoil",
    [
        lambda text: text[:-1],
        lambda text: [*text, text[-1]],
        lambda text: [text[1], text[0], *text[2:]],
        lambda text: text[:10] + text[11:],
        lambda text: [*text[:5], "5,5,1,1,1,6000", *text[6:]],
        lambda text: [],
    ],
)
@pytest.mark.parametrize("name", ["report", "fraud"])
def test_a_line_lost_twice_elsewhere_or_wrong_is_noticed(out: Path, tmp_path: Path, spoil, name: str) -> None:  # type: ignore[no-untyped-def]
    path = out / f"{name}.csv"
    path.write_text("".join(f"{line}\n" for line in spoil(path.read_text().splitlines())))
    answers = compare_answers(WORLD, record(), out, tmp_path / "r")
    assert [job for job, is_right in answers.items() if not is_right] == [name]


def test_a_job_that_never_ran_has_written_nothing(out: Path, tmp_path: Path) -> None:
    told = record()
    del told.counts["report"]
    assert compare_answers(WORLD, told, out, tmp_path / "r")["report"] is False
    (out / "report.csv").unlink()
    assert compare_answers(WORLD, told, out, tmp_path / "r")["report"] is True
