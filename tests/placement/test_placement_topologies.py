from __future__ import annotations

import numpy as np
import pytest

from penstock.bench.scheduling import throughput_scale
from penstock.bench.workloads.scheduling_model import Host, predicted_scale, topology_model
from penstock.placement import PlacementProblem, equal_machines, place
from penstock.placement.topologies import TOPOLOGIES

SIZES = (10, 20, 40, 80)


def _topology(name, machines):
    return TOPOLOGIES[name](machines, np.random.default_rng(7))


def _problem(name, machines):
    return PlacementProblem(graph=_topology(name, machines).graph, machines=equal_machines(machines))


@pytest.mark.parametrize("machines", SIZES)
@pytest.mark.parametrize("name", ["parallel", "payload"])
def test_metis_cuts_nearly_all_traffic_of_independent_chains(name, machines):
    problem = _problem(name, machines)
    even, metis = place(problem, "even"), place(problem, "metis")
    assert metis.cost <= 0.15 * even.cost
    assert metis.within_limit


@pytest.mark.parametrize("machines", SIZES)
@pytest.mark.parametrize("name", TOPOLOGIES)
def test_metis_is_at_least_as_good_as_greedy_within_the_limit(name, machines):
    problem = _problem(name, machines)
    metis, greedy, even = (place(problem, algorithm) for algorithm in ("metis", "greedy", "even"))
    assert metis.within_limit
    assert metis.cost <= greedy.cost
    assert metis.cost < even.cost


@pytest.mark.parametrize("machines", SIZES)
def test_the_topologies_have_the_papers_numbers_of_tasks(machines):
    for name in ("parallel", "payload", "reference"):
        assert _topology(name, machines).graph.tasks == 8 * machines
    # Two kinds of readers share one task a machine; A, B, F and J have one each; and there is one output.
    assert _topology("open_gov", machines).graph.tasks == 5 * machines + 1


def test_a_tasks_weight_is_the_tuples_that_it_receives_and_emits():
    topology = _topology("payload", 10)
    tuples = topology.graph.matrix().sum(axis=1) / topology.tuple_bytes
    assert topology.graph.weights[:, 0] == pytest.approx(tuples)


def test_saving_traffic_pays_more_with_large_tuples():
    gains = {}
    for name in ("parallel", "payload"):
        topology, problem = _topology(name, 40), _problem(name, 40)
        metis, even = (throughput_scale(topology, place(problem, a).machine_of, 40, Host()) for a in ("metis", "even"))
        gains[name] = metis / even
    assert gains["payload"] > gains["parallel"] >= 1.0


def test_the_streams_of_a_topology_are_its_graph_with_directions():
    topology = _topology("open_gov", 10)
    matrix = np.zeros((topology.graph.tasks,) * 2)
    np.add.at(matrix, (topology.sources, topology.targets), topology.rates_tps * topology.tuple_bytes)
    assert topology.graph.matrix().toarray() == pytest.approx(matrix + matrix.T)


def test_the_model_predicts_that_whole_chains_beat_dealt_tasks_the_more_the_larger_the_tuples():
    gains = {}
    for name in ("parallel", "payload"):
        topology, problem = _topology(name, 20), _problem(name, 20)
        model = topology_model(topology, 20, Host())
        metis, even = (predicted_scale(model, place(problem, a).machine_of) for a in ("metis", "even"))
        gains[name] = metis / even
    assert gains["payload"] > gains["parallel"] > 1.0
