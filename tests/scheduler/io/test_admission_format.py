"""Each mistake in an admission problem has its message."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from penstock.base.diagnostics import UserError
from penstock.scheduler.io.admission_format import problem_from_json, read_problem
from penstock.scheduler.problem.admission_problem import Flow, Linear, Table

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
        problem_from_json(document, "jobs.json")
    return [str(diagnostic).removeprefix("error: jobs.json: ") for diagnostic in caught.value.diagnostics]


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


RATE, B_S = f"{B_PE}.outputs.0.rate", "stream `B.s` of PE `B.pe`"
TOO_LARGE = "too large or not a number; write a number up to 1e+15"

MISTAKES = [
    ([("mips", -5)], "the mips of the problem is negative: -5; write a number from 0 up"),
    ([("mips", ...)], 'the problem has no mips; write "mips": a number'),
    ([("mips", "many")], "the mips of the problem is a string; write a number"),
    ([("mips", float("nan"))], f"the mips of the problem is {TOO_LARGE}"),
    ([("mips", 10**400)], f"the mips of the problem is {TOO_LARGE}"),
    ([("mips", 1e308)], f"the mips of the problem is {TOO_LARGE}"),
    ([("placment", {})], "the problem has an unknown key `placment`; did you mean `placement`?"),
    ([(f"{A_IN}.memory_mbs", 3)], "PE `A.in` has an unknown key `memory_mbs`; did you mean `memory_mb`?"),
    (
        [(f"{A_IN}.outputs.0.rate.flow.mips_per_tps", 1e-300)],
        "the mips_per_tps of stream `A.s1` of PE `A.in` is 1e-300; write a number from 1e-15 up",
    ),
    ([("jobs", {})], "`jobs` is an object; write a list"),
    ([("jobs", ...)], 'the problem has no jobs; write "jobs": [...]'),
    ([("jobs.2", 7)], "jobs[2] is a number; write an object"),
    ([(f"{A}.rank", 0)], "the rank of job `A` is 0; write a whole number from 1 up"),
    ([(f"{A}.rank", 1.5)], "the rank of job `A` is 1.5; write a whole number from 1 up"),
    ([(f"{A}.required", "yes")], "the required of job `A` is a string; write true or false"),
    ([(f"{B}.id", "A")], "the id `A` is given to jobs[0] and to jobs[1]; give each its own"),
    ([(f"{B}.id", ...)], 'jobs[1] has no id; write "id": "name"'),
    ([(f"{B}.templates", [])], "job `B` has no templates; write at least one"),
    ([(f"{B}.templates.0.pes", [])], "template `basic` of job `B` has no PEs; write at least one in `pes`"),
    (
        [(f"{B}.templates.1", GOOD["jobs"][1]["templates"][0])],
        "the id `basic` is given to templates[0] and to templates[1] of job `B`; give each its own",
    ),
    (
        [(f"{B}.running", "basics")],
        "job `B` is running with template `basics`, which it does not have; did you mean `basic`?",
    ),
    (
        [(f"{A_OUT}.id", "A.in")],
        "the id `A.in` is given to pes[0] and to pes[1] of template `basic` of job `A`; give each its own",
    ),
    ([(f"{B_PE}.id", "A.in")], "PE `A.in` is in job `A` and in job `B`; rename one"),
    ([(f"{A_IN}.min_mips", -1)], "the min_mips of PE `A.in` is negative: -1; write a number from 0 up"),
    (
        [(f"{A_IN}.min_mips", 9001)],
        "the min_mips of PE `A.in` is 9001, above its max_mips, 9000; lower the one or raise the other",
    ),
    ([(f"{A_IN}.max_mips", ...)], 'PE `A.in` has no max_mips; write "max_mips": a number'),
    ([(f"{A_IN}.offered_tps", -3)], "the offered_tps of PE `A.in` is negative: -3; write a number from 0 up"),
    (
        [(f"{A_IN}.offered_tps", ...)],
        "PE `A.in` has neither `inputs` nor `offered_tps`, so nothing flows; write one of them",
    ),
    ([(f"{A_IN}.max_mip", 3)], "PE `A.in` has an unknown key `max_mip`; did you mean `max_mips`?"),
    ([(f"{A_OUT}.inputs", ["A.s9"])], "PE `A.out` reads stream `A.s9`, which no PE produces; did you mean `A.s2`?"),
    ([(f"{A_OUT}.inputs", "A.s1")], "`inputs` of PE `A.out` is a string; write a list of names"),
    ([(f"{A_OUT}.inputs", ["A.s1", "A.s1"])], "PE `A.out` reads stream `A.s1` twice; name it once"),
    (
        [(f"{B_PE}.outputs.0.stream", "A.s1")],
        "stream `A.s1` is produced by job `A` and by job `B`; rename one",
    ),
    (
        [(f"{A_OUT}.outputs.0.stream", "A.s1"), (f"{B_PE}.inputs", [])],
        "template `basic` of job `A` produces stream `A.s1` twice; rename one",
    ),
    (
        [(f"{A_OUT}.outputs.0.weight", -2)],
        "the weight of stream `A.s2` of PE `A.out` is negative: -2; write a number from 0 up",
    ),
    (
        [(f"{A_OUT}.outputs.0.rate", ...)],
        'stream `A.s2` of PE `A.out` has no rate; write {"flow": ...} or {"table": ...} or {"limits": ...} or '
        '{"surface": ...}',
    ),
    (
        [(f"{A_OUT}.outputs.0.value", {"cubic": 1})],
        'the value of stream `A.s2` of PE `A.out` is {"cubic": 1}; write {"linear": ...} or {"table": ...}',
    ),
    (
        [(f"{A_OUT}.outputs.0.value", {"linear": -1})],
        "the linear value of stream `A.s2` of PE `A.out` is negative: -1; write a number from 0 up",
    ),
    (
        [(f"{A_IN}.outputs.0.rate.flow.mips_per_tps", 0)],
        "the mips_per_tps of stream `A.s1` of PE `A.in` is 0; write a number above 0",
    ),
    (
        [(f"{A_IN}.outputs.0.rate.flow", 3)],
        "the flow of stream `A.s1` of PE `A.in` is a number; write an object",
    ),
    (
        [(f"{B_PE}.outputs.0.rate.table", [[0, 5], [500, 4]])],
        "the rate table of stream `B.s` of PE `B.pe` falls from 5 at 0 to 4 at 500; more must never give less",
    ),
    (
        [(f"{B_PE}.outputs.0.rate.table", [[5, 1], [5, 4]])],
        "the rate table of stream `B.s` of PE `B.pe` has 5 after 5; put its points in rising order",
    ),
    (
        [(f"{B_PE}.outputs.0.rate.table", [])],
        "the rate table of stream `B.s` of PE `B.pe` is empty; write a list of [x, y]",
    ),
    (
        [(f"{B_PE}.outputs.0.rate.table", [[1, 2, 3]])],
        "point 0 of the rate table of stream `B.s` of PE `B.pe` is [1, 2, 3]; write [x, y]",
    ),
    (
        [(f"{B_PE}.outputs.0.rate.table", "x")],
        "the rate table of stream `B.s` of PE `B.pe` is a string; write a list of [x, y]",
    ),
    (
        [(f"{B_PE}.outputs.0.rate.table", [[0, -1]])],
        "the y of point 0 of the rate table of stream `B.s` of PE `B.pe` is negative: -1; write a number from 0 up",
    ),
    ([(f"{A}.rank", 10**400)], "the rank of job `A` is 1" + "0" * 53 + "...; write a whole number up to 1e+15"),
    ([(f"{B}.id", "")], "the id of jobs[1] is empty; write a name"),
    ([(f"{B}.id", 7)], "the id of jobs[1] is a number; write a name"),
    ([(f"{A_OUT}.inputs", ["A.s1", None])], "inputs[1] of PE `A.out` is null; write a name"),
    ([(f"{B_PE}.outputs", [[]])], "outputs[0] of PE `B.pe` is a list; write an object"),
    (
        [(RATE, {"limits": {"mips": [[0, 0]], "inputs": {"A.s1": 1}}})],
        f"the rate of {B_S} depends on `A.s1`, which the PE does not read; name one of its `inputs`, or `offered_tps`",
    ),
    (
        [(RATE, {"limits": {"mips": [[0, 0]], "inputs": {"A.s2": -1}}})],
        f"the share of `A.s2` in {B_S} is negative: -1; write a number from 0 up",
    ),
    (
        [(RATE, {"limits": {"mips": [[0, 0]], "products": [["A.s2", 1]]}})],
        f'products[0] of {B_S} is ["A.s2", 1]; write [stream, stream, factor]',
    ),
    (
        [(RATE, {"limits": {"mips": [[0, 0]], "input": {}}})],
        f"the limits of {B_S} has an unknown key `input`; did you mean `inputs`?",
    ),
    (
        [(RATE, {"surface": {"inputs": ["A.s2"], "knots": [[0, 1]], "rates": [0, 1]}})],
        f"{B_S} has 1 axes in `knots` for 1 inputs and the mips; write one for each input, then one for the mips",
    ),
    (
        [(RATE, {"surface": {"knots": [[0, 0]], "rates": [0, 1]}})],
        f"knots[0] of {B_S} is [0, 0]; write numbers from 0 to 1e+15 in rising order",
    ),
    (
        [(RATE, {"surface": {"knots": [[0, 1]], "rates": [0, 1, 2]}})],
        f"{B_S} has 3 rates for a grid of 2 points; write one for each point, the mips' axis running fastest",
    ),
    (
        [(RATE, {"surface": {"knots": [[0, 1]], "rates": [0, "x"]}})],
        f"rates[1] of {B_S} is a string; write a number",
    ),
    (
        [(RATE, {"surface": {"knots": [[0, 1]], "rates": [1, 0]}})],
        f"the rates of {B_S} fall along an axis; more must never give less",
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


def test_what_stands_in_for_a_mistake_is_no_second_mistake() -> None:
    found = messages(
        changed((f"{A_IN}.min_mips", 7), (f"{A_IN}.max_mips", "x"), (RATE, {"table": [[0, 5], [1, None]]}))
    )
    assert found == [
        "the max_mips of PE `A.in` is a string; write a number",
        f"the y of point 1 of the rate table of {B_S} is null; write a number",
    ]


def test_keys_of_the_placement_are_left_alone() -> None:
    document = changed((f"{A_IN}.memory_mb", 100), ("nodes", [{"id": "n1"}]), ("constraints", []))
    assert problem_from_json(document) == problem_from_json(GOOD)


def test_a_document_that_is_no_object_is_refused() -> None:
    assert messages([1]) == ['the problem is a list; write an object: {"mips": 1000, "jobs": [...]}']


def test_a_file_that_is_not_json_is_named_with_line_and_column(tmp_path: Path) -> None:
    path = tmp_path / "jobs.json"
    path.write_text('{"mips": 5,\n "jobs": [}')
    with pytest.raises(UserError, match=r"jobs\.json:2:11: error: not JSON: expecting value"):
        read_problem(path)


def test_a_good_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "jobs.json"
    path.write_text(json.dumps(GOOD))
    assert read_problem(path) == problem_from_json(GOOD)
