"""Every operator, every example and random graphs: on Spark each sink receives what the reference gives it.

Each pack is one query. On one channel all of it is fused; on three it is cut at every region, and the small programs
also into two layers.
"""

from __future__ import annotations

import importlib.util
import shutil
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from packs import FIXTURES, PRINTED, fixtures, in_two_layers, outcome_of_reference, outcome_on_spark, packed
from test_generated_graphs import fed, graphs, program_of

from operator_graphs import BY_TIME, IN_CONTAINERS, PER_TUPLE, STATEFUL, STATELESS
from penstock.codegen.plan.physical import physical_plan
from penstock.lang import compile_file
from penstock.toolkit.core.operator_registry import standard
from penstock.toolkit.core.program import Program
from spark_session import Fusion, everything_fused

EXAMPLES = Path(__file__).parents[2] / "examples"
GRAPHS, SEED = 20, 3
"""How many graphs are drawn, and from which seed."""

PARTS = 6
"""Their PEs stand in one line, and rows cross all that lie before their own: the time grows with the square."""

ELSEWHERE = {
    "Export": "tests/spark/streams/test_stream_tables.py: it takes two jobs",
    "Import": "tests/spark/streams/test_stream_tables.py: it takes two jobs",
    "FromSpark": "tests/spark/frames/test_transform.py: it takes a DataFrame",
    "ToSpark": "tests/spark/frames/test_transform.py: it makes a DataFrame",
    "KafkaConsumer": "tests/spark/kafka/test_kafka.py: it takes a broker",
    "KafkaProducer": "tests/spark/kafka/test_kafka.py: it takes a broker",
    "PostgresSink": "tests/spark/sinks/test_postgres.py: it takes a server",
    "SparkSink": "tests/spark/sinks/test_spark_writer.py: it is Spark that writes",
    "TCPSink": "tests/toolkit/adapters/test_tcp_sink.py: it takes a client",
    "TCPSource": "tests/toolkit/adapters/test_tcp_source.py: it takes a server",
    "UDPSource": "tests/toolkit/adapters/test_udp_source.py: it takes a sender",
}
"""Operators that need the outside, and the test that runs them on Spark."""


def assert_equal_on_spark(program: Program, data: Path, fusion: Fusion, channels: int, turns_per_batch: int) -> None:
    assert physical_plan(program.application, fusion, channels).channels == channels
    wanted = outcome_of_reference(program, data)
    found, batches = outcome_on_spark(program, data, fusion, turns_per_batch=turns_per_batch, channels=channels)
    assert sorted(name for name in found.keys() | wanted.keys() if found.get(name) != wanted.get(name)) == []
    assert batches > 1


@cache
def random_graphs() -> dict[str, Program]:
    """Programs drawn at random, the same in every run."""
    found: list[Program] = []

    @seed(SEED)
    @settings(
        max_examples=GRAPHS, database=None, deadline=None, phases=[Phase.generate], suppress_health_check=HealthCheck
    )
    @given(graph=graphs((*STATELESS[:5], *PER_TUPLE[:6], *STATEFUL, *IN_CONTAINERS, *BY_TIME)), items=fed())
    def gather(graph, items):
        found.append(program_of(graph, items))

    gather()
    return {f"graph{i}": program for i, program in enumerate(found)}


@cache
def small_programs(part: int = 0, parts: int = 1) -> Program:
    """All of them, or every so many."""
    return packed("Programs", dict(list({**fixtures(), **random_graphs()}.items())[part::parts]))


@pytest.mark.xdist_group("spark")
def test_fixtures_and_random_graphs_mean_the_same_on_spark():
    program = small_programs()
    fusion = everything_fused(program.application)
    assert_equal_on_spark(program, FIXTURES / "data", fusion, 1, turns_per_batch=60)


@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize("part", range(PARTS))
def test_fixtures_and_random_graphs_mean_the_same_on_three_channels_of_spark(part):
    program = small_programs(part, PARTS)
    fusion = in_two_layers(program.application)
    # What lies between batches is the same in four as in ten of them.
    assert_equal_on_spark(program, FIXTURES / "data", fusion, 3, turns_per_batch=150 // PARTS)


def test_a_fixture_means_the_same_beside_others():
    together = outcome_of_reference(packed("Fixtures", fixtures()), FIXTURES / "data")
    alone = [outcome_of_reference(program, FIXTURES / "data")[PRINTED] for program in fixtures().values()]
    assert sorted(together[PRINTED].splitlines()) == sorted(line for text in alone for line in text.splitlines())


def loaded(path: str) -> ModuleType:
    """A Python file of the examples, under a name of its own."""
    name = "packed_" + path.replace("/", "_").removesuffix(".py")
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def generate_data(folder: Path) -> None:
    """Little data for every example, all in one folder."""
    loaded("bargains/generate.py").generate(folder / "ticks.csv", ticks=1500, symbols=8, seed=2)
    loaded("radio_astronomy/generate.py").generate(folder / "samples.csv", samples=1500, antennas=2, rare=150)
    loaded("templates/generate.py").generate(folder / "readings.csv", readings=1500)
    loaded("network_monitoring/generate.py").generate(folder, seconds=12)
    loaded("opengov/generate.py").generate(folder, companies=60, days=120, seed=4)
    loaded("pagerank/generate.py").generate(folder, pages=40)
    loaded("finance/generate.py").generate(folder, ticks=1200, symbols=6)
    loaded("twitter_nlp/generate.py").generate(folder, tweets=150)
    loaded("twitter_cep/generate.py").generate(folder, tweets=400, authors=8)
    loaded("web_logs/generate.py").generate(folder / "access.csv", count=1200, users=60)
    for name in ("stocks.csv", "seattle-weather.csv"):
        shutil.copy(loaded("vega_folder.py").folder() / name, folder)


def examples() -> Iterator[tuple[str, Program]]:
    """Every example but those for brokers; those in two languages make one graph, which their own tests show."""
    for path in sorted(EXAMPLES.glob("*/*.spl")):
        mains = ("Basic", "Cleaned", "Settled") if path.stem == "templates" else (None,)
        if path.stem != "kafka_pipeline":
            yield from ((f"{path.stem}{main or ''}", compile_file(path, main=main)) for main in mains)
    yield "weather", loaded("weather/weather.py").app.program()
    yield "web_logs", loaded("web_logs/web_logs.py").app.program()


@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize("channels", [1, 3])
def test_examples_mean_the_same_on_spark(channels, tmp_path):
    generate_data(tmp_path)
    program = packed("Examples", dict(examples()))
    assert_equal_on_spark(program, tmp_path, everything_fused(program.application), channels, turns_per_batch=4000)


def test_no_example_is_left_out():
    folders = {path.parent.name for path in EXAMPLES.glob("*/README.md")}
    packs = {program.directory.name for name, program in examples()} | {"weather", "web_logs"}
    apart = {"kafka_pipeline", "notebook", "nexmark", "pyspark_program"}
    assert folders - packs == apart, "one takes a broker; the others have tests in tests/examples and tests/bench"


def test_every_operator_of_the_toolkit_runs_on_spark():
    kinds = {operator.kind for operator in small_programs().application.operators}
    assert set(standard().names()) - kinds == ELSEWHERE.keys()
