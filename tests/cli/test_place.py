from __future__ import annotations

import json
import sys

import pytest

from penstock.cli import main

WORDS = {
    "tasks": [
        {"id": "read", "weight": 1},
        {"id": "split", "weight": 3},
        {"id": "count", "weight": 3},
        {"id": "top", "weight": 1},
    ],
    "edges": [
        {"from": "read", "to": "split", "weight": 100},
        {"from": "split", "to": "count", "weight": 10},
        {"from": "count", "to": "top", "weight": 20},
    ],
}
PATH = "% a path of four\n4 3 001\n2 9\n1 9 3 1\n2 1 4 9\n3 9\n"


@pytest.fixture
def place(monkeypatch, capsys):
    """Runs `penstock place` and returns its exit status, standard output and standard error."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["penstock", "place", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            main()
        printed = capsys.readouterr()
        return stopped.value.code, printed.out, printed.err

    return run


@pytest.fixture
def words(tmp_path):
    path = tmp_path / "words.json"
    path.write_text(json.dumps(WORDS))
    return path


def test_the_answer_as_json_follows_the_contract(place, words):
    status, out, err = place(words, "--algorithm", "metis", "--machines", 2, "--json")
    answer = json.loads(out)
    assert (status, err) == (0, "")
    assert answer["assignment"]["read"] == answer["assignment"]["split"] != answer["assignment"]["count"]
    assert (answer["cost"], answer["imbalance"], answer["within_limit"]) == (10, 1.0, True)
    assert answer["seconds"] >= 0


@pytest.mark.parametrize(("algorithm", "cost"), [("even", 130), ("greedy", 10), ("metis", 10)])
def test_every_algorithm_can_be_asked_for(place, words, algorithm, cost):
    status, out, _ = place(words, "--algorithm", algorithm, "--machines", 2, "--json")
    assert (status, json.loads(out)["cost"], json.loads(out)["algorithm"]) == (0, cost, algorithm)


def test_people_get_a_table(place, words):
    status, out, _ = place(words, "--machines", 2)
    assert status == 0
    for part in ("read, split", "count, top", "10 of 130 (7.7%)", "imbalance"):
        assert part in out


def test_names_are_printed_as_they_are(place, tmp_path):
    path = tmp_path / "odd.json"
    path.write_text(json.dumps({"tasks": [{"id": "[/red]"}, {"id": ":smile:"}], "edges": []}))
    assert "[/red], :smile:" in place(path, "--machines", 1)[1]


def test_a_metis_file_is_answered_with_a_part_file(place, tmp_path):
    path = tmp_path / "path.graph"
    path.write_text(PATH)
    status, out, _ = place(path, "--machines", 2, "--json")
    parts = (tmp_path / "path.graph.part.2").read_text().split()
    assert status == 0
    assert [str(machine) for machine in json.loads(out)["assignment"].values()] == parts
    assert parts[0] == parts[1] != parts[2] == parts[3]
    assert json.loads(out)["cost"] == 1


def test_the_help_teaches_with_an_example(place):
    status, out, _ = place("--help")
    assert status == 0
    assert "penstock place words.json --algorithm metis --machines 2" in out


def test_a_bad_problem_exits_with_1_and_its_errors(place, tmp_path):
    path = tmp_path / "bad.json"
    path.write_text('{"tasks": [{"id": "a", "weight": -1}], "edges": [{"from": "a", "to": "b"}]}')
    status, out, err = place(path, "--machines", 1, "--json")
    assert status == 1
    assert len(json.loads(out)["errors"]) == 2
    assert "the weight of task `a` is negative: -1" in err


def test_an_asymmetric_metis_file_exits_with_1(place, tmp_path):
    path = tmp_path / "bad.graph"
    path.write_text("3 2\n2\n1 3\n1\n")
    status, _, err = place(path, "--machines", 2)
    assert status == 1
    assert "bad.graph:3:1: error: task 2 lists task 3" in err
    assert not (tmp_path / "bad.graph.part.2").exists()


def test_more_machines_than_tasks_exits_with_1(place, words):
    status, _, err = place(words, "--machines", 5)
    assert status == 1
    assert "there are 5 machines and only 4 tasks" in err


def test_a_file_that_does_not_exist_exits_with_1(place, tmp_path):
    status, _, err = place(tmp_path / "none.json", "--machines", 2)
    assert status == 1
    assert "cannot read" in err


def test_more_machines_than_memory_could_hold_exits_with_1_too(place, words, tmp_path):
    graph = tmp_path / "path.graph"
    graph.write_text(PATH)
    for problem in (words, graph):
        status, _, err = place(problem, "--machines", 10**12)
        assert status == 1
        assert "there are 1000000000000 machines and only 4 tasks" in err


@pytest.mark.parametrize(
    "arguments",
    [
        ["--machines", 0],
        ["--imbalance", 0.5],
        ["--imbalance", "nan"],
        ["--imbalance", "inf"],
        ["--deadline", "nan"],
        ["--seed", -1],
        ["--seed", 10**20],
        ["--algorithm", "magic"],
    ],
)
def test_a_bad_option_exits_with_2(place, words, arguments):
    assert place(words, *arguments)[0] == 2


def test_a_metis_file_without_a_number_of_machines_exits_with_2(place, tmp_path):
    path = tmp_path / "path.graph"
    path.write_text(PATH)
    status, _, err = place(path)
    assert status == 2
    assert "give --machines K" in err


def test_a_task_too_large_for_every_machine_exits_with_3(place, tmp_path):
    path = tmp_path / "tight.json"
    machines = [{"id": "m1", "capacity": 4}, {"id": "m2", "capacity": 4}]
    path.write_text(json.dumps({"tasks": [{"id": "a", "weight": 5}, {"id": "b"}], "machines": machines}))
    status, out, err = place(path, "--json")
    assert status == 3
    assert json.loads(out) == {
        "feasible": False,
        "reason": "task `a` of weight 5 is larger than every machine; the largest has 4",
        "conflicts": ["a"],
    }
    assert "no feasible solution" in err


def test_a_limit_out_of_reach_is_warned_of(place, words):
    status, _, err = place(words, "--machines", 3)
    assert status == 0
    assert "warning: no placement within imbalance 1.03 was found; the most even one found has 1.125" in err


def test_an_overloaded_machine_is_warned_of(place, tmp_path):
    path = tmp_path / "tight.json"
    machines = [{"id": "m1", "capacity": 4}, {"id": "m2", "capacity": 4}]
    tasks = [{"id": "a", "weight": 3}, {"id": "b", "weight": 1}, {"id": "c", "weight": 3}]
    path.write_text(json.dumps({"tasks": tasks, "machines": machines}))
    status, _, err = place(path, "--algorithm", "even")
    assert status == 0
    assert "warning: machine `m1` is given more than its capacity" in err


def test_racks_are_shown_and_counted(place, tmp_path):
    path = tmp_path / "racks.json"
    machines = [{"id": f"m{i}", "rack": "north" if i < 2 else "south"} for i in range(4)]
    path.write_text(json.dumps({**WORDS, "machines": machines, "rack_factor": 10}))
    status, out, _ = place(path, "--imbalance", 2, "--json")
    answer = json.loads(out)
    assert status == 0
    assert answer["cost"] == answer["cut"] + 9 * answer["cut_between_racks"]
    assert "north" in place(path, "--imbalance", 2)[1]


def test_a_deadline_and_a_seed_and_an_objective_are_taken(place, words):
    options = ["--deadline", 0, "--seed", 5, "--objective", "volume", "--starts", 2]
    assert place(words, "--machines", 2, *options)[0] == 0
