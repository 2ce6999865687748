"""`penstock fuse` as a user calls it."""

from __future__ import annotations

import json
import sys

import pytest

from penstock.cli import main
from penstock.fusion import ALGORITHMS

CHAIN = {
    "operators": [
        {"id": "parse", "cost": 40},
        {"id": "filter", "cost": 10},
        {"id": "score", "cost": 60},
        {"id": "write", "cost": 20},
    ],
    "streams": [
        {"from": "parse", "to": "filter", "cost": 30},
        {"from": "filter", "to": "score", "cost": 5},
        {"from": "score", "to": "write", "cost": 15},
    ],
    "hosts": [{"id": "h1", "capacity": 100}, {"id": "h2", "capacity": 100}],
}


@pytest.fixture
def fuse(monkeypatch, capfd):
    """Runs `penstock fuse` and returns its exit status, standard output and standard error."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["penstock", "fuse", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            main()
        printed = capfd.readouterr()
        return stopped.value.code, printed.out, printed.err

    return run


@pytest.fixture
def chain(tmp_path):
    path = tmp_path / "chain.json"
    path.write_text(json.dumps(CHAIN))
    return path


def write(path, **changes):
    path.write_text(json.dumps(CHAIN | changes))
    return path


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("flags", [(), ("--acyclic",)])
def test_every_algorithm_answers_as_the_contract_says(fuse, chain, algorithm, flags):
    status, out, _ = fuse(chain, "--algorithm", algorithm, "--json", *flags)
    answer = json.loads(out)
    assert status == 0
    assert answer["algorithm"] == algorithm
    assert sorted(name for pe in answer["pes"] for name in pe) == ["filter", "parse", "score", "write"]
    assert len(answer["hosts"]) == len(answer["pes"])
    assert set(answer["hosts"]) <= {"h1", "h2"}
    assert {"feasible", "cut", "max_pe_size", "max_utilization", "throughput_scale", "seconds"} <= answer.keys()


def test_figures_can_be_checked_by_hand(fuse, chain):
    _, out, _ = fuse(chain, "--algorithm", "exact", "--json")
    answer = json.loads(out)
    assert answer["pes"] == [["parse", "filter"], ["score", "write"]]
    assert (answer["cut"], answer["max_pe_size"], answer["max_utilization"]) == (5.0, 85.0, 0.85)
    assert answer["throughput_scale"] == pytest.approx(1 / 0.85)
    assert answer["feasible"] is answer["optimal"] is True


def test_an_answer_that_does_not_fit_says_so(fuse, chain):
    status, out, err = fuse(chain, "--algorithm", "all", "--json")
    assert status == 0
    assert json.loads(out)["feasible"] is False
    assert "loaded to 130% of its capacity" in err


def test_people_get_a_table(fuse, chain):
    status, out, _ = fuse(chain, "--algorithm", "cola")
    assert status == 0
    for part in ("parse, filter", "score, write", "5 of 50 mips (10.0%)", "85.0% of its capacity", "1.176 times"):
        assert part in out


def test_an_infeasible_problem_exits_with_3_and_its_conflicts(fuse, tmp_path):
    constraints = [
        {"kind": "pe_colocation", "operators": ["parse", "write"]},
        {"kind": "pe_exlocation", "operators": ["write", "parse"]},
        {"kind": "host_colocation", "operators": ["score", "write"]},
    ]
    status, out, err = fuse(write(tmp_path / "p.json", constraints=constraints), "--json")
    answer = json.loads(out)
    assert status == 3
    assert answer["feasible"] is False
    assert answer["conflicts"] == ["pe_colocation of `parse`, `write`", "pe_exlocation of `write`, `parse`"]
    assert "no feasible solution" in err


def test_an_operator_larger_than_any_host_exits_with_3_and_its_name(fuse, tmp_path):
    hosts = [{"id": "h1", "capacity": 55}] * 1 + [{"id": "h2", "capacity": 50}, {"id": "h3", "capacity": 50}]
    status, _, err = fuse(write(tmp_path / "p.json", hosts=hosts), "--algorithm", "cola")
    assert status == 3
    assert "operator `score` costs 60 mips, more than the 55 of the largest host `h1`" in err


def test_a_bad_problem_exits_with_1_and_every_mistake(fuse, tmp_path):
    operators = [{"id": "parse", "cost": -4}, {"id": "parse", "cost": 1}]
    status, out, _ = fuse(write(tmp_path / "p.json", operators=operators), "--json")
    found = [error["message"] for error in json.loads(out)["errors"]]
    assert status == 1
    assert len(found) == 2 + 5
    assert any("negative" in message for message in found)
    assert any("given to operators[0] and to operators[1]" in message for message in found)


def test_operators_on_a_cycle_are_named(fuse, tmp_path):
    streams = [{"from": "parse", "to": "score", "cost": 1}, {"from": "score", "to": "parse", "cost": 1}]
    path = write(tmp_path / "p.json", streams=streams, hosts=[{"id": "h", "capacity": 500}])
    status, out, err = fuse(path, "--acyclic", "--algorithm", "none", "--json")
    assert status == 0
    assert ["parse", "score"] in json.loads(out)["pes"]
    assert "note: `parse`, `score` lie on a cycle" in err


def test_the_help_teaches_with_an_example(fuse):
    status, out, _ = fuse("--help")
    assert status == 0
    assert "penstock fuse chain.json --algorithm cola" in out


def test_an_unknown_algorithm_is_a_mistake_of_usage(fuse, chain):
    assert fuse(chain, "--algorithm", "best")[0] == 2


def test_costs_of_nothing_leave_the_rates_without_limit(fuse, tmp_path):
    path = write(tmp_path / "p.json", operators=[{"id": "a", "cost": 0}], streams=[])
    assert json.loads(fuse(path, "--json")[1])["throughput_scale"] is None
    assert "without limit" in fuse(path)[1]


def test_names_are_printed_as_they_are(fuse, tmp_path):
    path = tmp_path / "named.json"
    named = [{"id": "[bold]parse[/bold]", "cost": 1}, {"id": ":smile:", "cost": 1}]
    path.write_text(json.dumps({"operators": named, "hosts": [{"id": "[red]h1", "capacity": 9}]}))
    status, out, _ = fuse(path, "--algorithm", "none")
    assert status == 0
    assert all(name in out for name in ("[bold]parse[/bold]", ":smile:", "[red]h1"))
