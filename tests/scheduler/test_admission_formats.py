"""Each mistake in an admission problem has its message."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from penstock.diagnostics import UserError
from penstock.scheduler.formats import problem_from_json, read_problem
from penstock.scheduler.problem import Flow, Linear, Table

GOOD: dict[str, Any] = {
    "mips": 1100000,
    "jobs": [
        {
            "id": "A",
            "rank": 1,
            "required": True,
            "templates": [
                {
                    "id": "basic",
                    "pes": [
                        {
                            "id": "A.in",
                            "min_mips": 0,
                            "max_mips": 9000,
                            "inputs": [],
                            "offered_tps": 5000,
                            "outputs": [
                                {"stream": "A.s1", "rate": {"flow": {"mips_per_tps": 1.2, "selectivity": 0.5}}}
                            ],
                        },
                        {
                            "id": "A.out",
                            "min_mips": 0,
                            "max_mips": 9000,
                            "inputs": ["A.s1"],
                            "outputs": [
                                {
                                    "stream": "A.s2",
                                    "rate": {"flow": {"mips_per_tps": 2.0, "selectivity": 1.0}},
                                    "value": {"table": [[0, 0], [1000, 50], [2500, 80]]},
                                    "weight": 2.0,
                                }
                            ],
                        },
                    ],
                }
            ],
        },
        {
            "id": "B",
            "rank": 2,
            "templates": [
                {
                    "id": "basic",
                    "pes": [
                        {
                            "id": "B.pe",
                            "max_mips": 500,
                            "inputs": ["A.s2"],
                            "outputs": [
                                {"stream": "B.s", "rate": {"table": [[0, 0], [500, 10]]}, "value": {"linear": 3}}
                            ],
                        }
                    ],
                }
            ],
        },
    ],
}

A, B = "jobs.0", "jobs.1"
A_IN, A_OUT, B_PE = f"{A}.templates.0.pes.0", f"{A}.templates.0.pes.1", f"{B}.templates.0.pes.0"


def changed(*changes: tuple[str, object]) -> dict[str, Any]:
    """The good problem with other values at some paths; `...` takes a key away."""
    document = copy.deepcopy(GOOD)
    for path, value in changes:
        *way, last = (int(step) if step.isdigit() else step for step in path.split("."))
        target: Any = document
        for step in way:
            target = target[step]
        if value is ...:
            del target[last]
        elif isinstance(last, int) and last == len(target):
            target.append(value)
        else:
            target[last] = value
    return document


def messages(document: object) -> list[str]:
    with pytest.raises(UserError) as caught:
        problem_from_json(document)
    return [str(diagnostic).removeprefix("error: ") for diagnostic in caught.value.diagnostics]


def test_the_example_of_the_documentation_is_read() -> None:
    problem = problem_from_json(GOOD)
    source, sink = problem.job("A").templates[0].pes
    assert problem.mips == 1100000
    assert source.offered_tps == 5000
    assert source.outputs[0].rate == Flow(mips_per_tps=1.2, selectivity=0.5)
    assert sink.inputs == ("A.s1",)
    assert sink.outputs[0].value == Table(points=((0, 0), (1000, 50), (2500, 80)))
    assert sink.outputs[0].weight == 2.0
    reader = problem.job("B").templates[0].pes[0]
    assert (reader.min_mips, reader.outputs[0].value, reader.outputs[0].weight) == (0.0, Linear(slope=3.0), 1.0)


MISTAKES = [
    ([("mips", -5)], "`mips` is -5; give a number of at least 0"),
    ([("mips", ...)], "`mips` is missing; give a number of at least 0"),
    ([("mips", "many")], '`mips` is "many"; give a number of at least 0'),
    ([("mips", float("nan"))], "`mips` is nan; give a number of at least 0"),
    ([("mips", 10**400)], "`mips` is 1" + "0" * 53 + "...; give a number up to 1e+15"),
    ([("mips", 1e308)], "`mips` is 1e+308; give a number up to 1e+15"),
    ([("placment", {})], "the problem has the unknown key `placment`; did you mean `placement`?"),
    ([(f"{A_IN}.memory_mbs", 3)], "PE `A.in` has the unknown key `memory_mbs`; did you mean `memory_mb`?"),
    (
        [(f"{A_IN}.outputs.0.rate.flow.mips_per_tps", 1e-300)],
        "stream `A.s1` of PE `A.in`: `mips_per_tps` is 1e-300; give a number of at least 1e-15",
    ),
    ([("jobs", {})], "the problem: `jobs` is an object; give a list"),
    ([("jobs", ...)], "there is no `jobs`; give a list of jobs"),
    ([("jobs.2", 7)], "the problem: entry 2 of `jobs` is a number; give an object"),
    ([(f"{A}.rank", 0)], "job `A`: `rank` is 0; ranks are whole numbers from 1, the best"),
    ([(f"{A}.rank", 1.5)], "job `A`: `rank` is 1.5; ranks are whole numbers from 1, the best"),
    ([(f"{A}.required", "yes")], 'job `A`: `required` is "yes"; give true or false'),
    ([(f"{B}.id", "A")], "there are two jobs with the id `A`; give each its own"),
    ([(f"{B}.id", ...)], "job 1: its `id` is missing; give a text"),
    ([(f"{B}.templates", [])], "job `B` has no templates; give at least one"),
    ([(f"{B}.templates.0.pes", [])], "job `B`, template `basic` has no PEs; give at least one in `pes`"),
    (
        [(f"{B}.templates.1", GOOD["jobs"][1]["templates"][0])],
        "job `B`: there are two templates with the id `basic`; give each its own",
    ),
    (
        [(f"{B}.running", "basics")],
        "job `B` is running with template `basics`, which it does not have; did you mean `basic`?",
    ),
    (
        [(f"{A_OUT}.id", "A.in")],
        "job `A`, template `basic`: there are two PEs with the id `A.in`; give each its own",
    ),
    ([(f"{B_PE}.id", "A.in")], "PE `A.in` is in job `A` and in job `B`; rename one"),
    ([(f"{A_IN}.min_mips", -1)], "PE `A.in`: `min_mips` is -1; give a number of at least 0"),
    (
        [(f"{A_IN}.min_mips", 9001)],
        "PE `A.in`: `min_mips` is 9001, above its `max_mips`, 9000; lower the one or raise the other",
    ),
    ([(f"{A_IN}.max_mips", ...)], "PE `A.in`: `max_mips` is missing; give a number of at least 0"),
    ([(f"{A_IN}.offered_tps", -3)], "PE `A.in`: `offered_tps` is -3; give a number of at least 0"),
    (
        [(f"{A_IN}.offered_tps", ...)],
        "PE `A.in` has neither `inputs` nor `offered_tps`, so nothing flows; give one of them",
    ),
    ([(f"{A_IN}.max_mip", 3)], "PE `A.in` has the unknown key `max_mip`; did you mean `max_mips`?"),
    ([(f"{A_OUT}.inputs", ["A.s9"])], "PE `A.out` reads stream `A.s9`, which no PE produces; did you mean `A.s2`?"),
    ([(f"{A_OUT}.inputs", "A.s1")], 'PE `A.out`: `inputs` is "A.s1"; give a list of texts'),
    ([(f"{A_OUT}.inputs", ["A.s1", "A.s1"])], "PE `A.out` reads stream `A.s1` twice; name it once"),
    (
        [(f"{B_PE}.outputs.0.stream", "A.s1")],
        "stream `A.s1` is produced by job `A` and by job `B`; rename one",
    ),
    (
        [(f"{A_OUT}.outputs.0.stream", "A.s1"), (f"{B_PE}.inputs", [])],
        "job `A`, template `basic`: there are two streams with the id `A.s1`; give each its own",
    ),
    ([(f"{A_OUT}.outputs.0.weight", -2)], "stream `A.s2` of PE `A.out`: `weight` is -2; give a number of at least 0"),
    (
        [(f"{A_OUT}.outputs.0.rate", ...)],
        'stream `A.s2` of PE `A.out`: its `rate` is missing; give `{"flow": ...}` or `{"table": ...}` '
        'or `{"limits": ...}` or `{"surface": ...}`',
    ),
    (
        [(f"{A_OUT}.outputs.0.value", {"cubic": 1})],
        'stream `A.s2` of PE `A.out`: its `value` is `{"cubic": 1}`; give `{"linear": ...}` or `{"table": ...}`',
    ),
    (
        [(f"{A_OUT}.outputs.0.value", {"linear": -1})],
        "stream `A.s2` of PE `A.out`: `linear` is -1; give a number of at least 0",
    ),
    (
        [(f"{A_IN}.outputs.0.rate.flow.mips_per_tps", 0)],
        "stream `A.s1` of PE `A.in`: `mips_per_tps` is 0; give a number above 0",
    ),
    (
        [(f"{A_IN}.outputs.0.rate.flow", 3)],
        "stream `A.s1` of PE `A.in`: `flow` is a number; give an object",
    ),
    (
        [(f"{B_PE}.outputs.0.rate.table", [[0, 5], [500, 4]])],
        "stream `B.s` of PE `B.pe`: its rate table falls from 5 at 0 to 4 at 500; more must never give less",
    ),
    (
        [(f"{B_PE}.outputs.0.rate.table", [[5, 1], [5, 4]])],
        "stream `B.s` of PE `B.pe`: its rate table has 5 after 5; put its points in rising order",
    ),
    (
        [(f"{B_PE}.outputs.0.rate.table", [])],
        "stream `B.s` of PE `B.pe`: its rate table has no points; give at least one `[x, y]`",
    ),
    (
        [(f"{B_PE}.outputs.0.rate.table", [[1, 2, 3]])],
        "stream `B.s` of PE `B.pe`: its rate table has the point `[1, 2, 3]`; give `[x, y]`",
    ),
    (
        [(f"{B_PE}.outputs.0.rate.table", "x")],
        "stream `B.s` of PE `B.pe`: its rate table is a string; give a list of `[x, y]`",
    ),
    (
        [(f"{B_PE}.outputs.0.rate.table", [[0, -1]])],
        "stream `B.s` of PE `B.pe`: its rate table: `[0, -1]` is -1; give a number of at least 0",
    ),
]


@pytest.mark.parametrize(("changes", "message"), MISTAKES, ids=[message[:60] for _, message in MISTAKES])
def test_a_mistake_is_named_with_what_to_do(changes: list[tuple[str, object]], message: str) -> None:
    assert message in messages(changed(*changes))


def test_a_stream_of_another_template_cannot_be_read() -> None:
    other = {"id": "rich", "pes": [{"id": "A.rich", "max_mips": 5, "inputs": ["A.s1"], "outputs": []}]}
    found = messages(changed((f"{A}.templates.1", other)))
    assert (
        "PE `A.rich` reads stream `A.s1`, which template `rich` of job `A` does not produce; only another template does"
        in found
    )


def test_a_stream_between_jobs_must_be_in_all_templates() -> None:
    other = {"id": "lean", "pes": [{"id": "A.lean", "max_mips": 5}]}
    assert messages(changed((f"{A}.templates.1", other))) == [
        "stream `A.s2` is read by job `B`, but template `lean` of job `A` does not produce it; "
        "a stream between jobs must be in all templates"
    ]


def test_all_mistakes_are_reported_at_once() -> None:
    found = messages(
        changed(("mips", -1), (f"{A}.rank", 0), (f"{A_IN}.min_mips", 9001), (f"{B_PE}.inputs", ["nowhere"]))
    )
    assert len(found) == 4


def test_keys_of_the_placement_are_left_alone() -> None:
    document = changed((f"{A_IN}.memory_mb", 100), ("nodes", [{"id": "n1"}]), ("constraints", []))
    assert problem_from_json(document) == problem_from_json(GOOD)


def test_a_document_that_is_no_object_is_refused() -> None:
    assert messages([1]) == ["an admission problem is a JSON object; found a list"]


def test_a_file_that_is_not_json_is_named_with_line_and_column(tmp_path: Path) -> None:
    path = tmp_path / "jobs.json"
    path.write_text('{"mips": 5,\n "jobs": [}')
    with pytest.raises(UserError, match=r"jobs\.json:2:11: error: not JSON: expecting value"):
        read_problem(path)


def test_a_good_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "jobs.json"
    path.write_text(json.dumps(GOOD))
    assert read_problem(path) == problem_from_json(GOOD)
