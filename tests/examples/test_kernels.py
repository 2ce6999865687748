"""The kernels of figure 11 of the auto-parallelization paper: their answers and their regions."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter, defaultdict, deque
from html import unescape
from pathlib import Path

import pytest

from compiling import compile_fused
from penstock.codegen.plan.physical import physical_plan
from penstock.expr.environment import Environment
from penstock.ir.graph import Application
from penstock.lang import compile_file
from penstock.parallel.region_plan import Joint, Ordering, Region
from penstock.parallel.regions import parallel_regions
from penstock.runtime.verify.verify_models import verify_models
from penstock.spark.job.run import SparkRun, run_on_spark
from penstock.testing import run
from plan_runner import run_plan
from spark_session import everything_fused, files, run_reference, session

NETWORK = "network_monitoring/network_kernel"
SIZES = {
    "pagerank": {"pages": 60},
    "twitter_nlp": {"tweets": 150},
    "twitter_cep": {"tweets": 400, "authors": 8},
    "finance": {"ticks": 1200, "symbols": 6},
    NETWORK: {"seconds": 20},
}


@pytest.fixture
def kernel(example, examples, tmp_path):
    """Compiles a kernel and makes its data."""

    def load(name: str) -> tuple[object, Path]:
        folder, _, file = name.rpartition("/")
        data = tmp_path / file
        data.mkdir()
        example(f"{folder or name}/generate.py").generate(data, **SIZES[name])
        return compile_file(examples / (folder or name) / f"{file}.spl"), data

    return load


def rows(path: Path) -> list[list[str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


def run_to(program, data: Path, out: str) -> Path:
    run(program, environment=Environment(data_directory=data, output_directory=data))
    return data / out


def regions(application: Application) -> list[Region]:
    return list(parallel_regions(application).regions)


def test_pagerank_is_the_power_method(kernel):
    program, data = kernel("pagerank")
    links = [[int(page) for page in line.split()] for line in (data / "graph.txt").read_text().splitlines()]
    ranks = [1 / len(links)] * len(links)
    for _ in range(10):
        lost = sum(rank for rank, targets in zip(ranks, links, strict=True) if not targets)
        following = [(0.15 + 0.85 * lost) / len(links)] * len(links)
        for rank, targets in zip(ranks, links, strict=True):
            for target in targets:
                following[target] += 0.85 * rank / len(targets)
        ranks = following
    found = rows(run_to(program, data, "ranks.csv"))
    assert [int(page) for page, _ in found] == list(range(60))
    assert [float(rank) for _, rank in found] == pytest.approx(ranks)
    assert sum(ranks) == pytest.approx(1)


def test_nlp_finds_the_words_and_their_lengths(kernel):
    program, data = kernel("twitter_nlp")
    lines = run_to(program, data, "words.txt").read_text(encoding="utf-8").splitlines()
    tweets = (data / "tweets.txt").read_text(encoding="utf-8").splitlines()
    assert len(lines) == len(tweets) == 150
    for line, tweet in zip(lines, tweets, strict=True):
        words = re.findall(r"[#@]?[\w']+", tweet.lower())
        quoted = ",".join(f'"{word}"' for word in words)
        lengths = ",".join(str(len(word)) for word in words)
        assert line.startswith(f"{{words=[{quoted}],lengths=[{lengths}],average=")
        average = sum(map(len, words)) / len(words) if words else 0
        assert float(line.rpartition("=")[2].rstrip("}")) == pytest.approx(average)


def test_cep_finds_five_tweets_with_the_same_tags(kernel):
    program, data = kernel("twitter_cep")
    found = [(row[0], int(row[1]), int(row[2])) for row in rows(run_to(program, data, "campaigns.csv"))]
    expected = []
    held: dict[str, list[tuple[int, list[str]]]] = defaultdict(list)
    for line in (data / "tweets.xml").read_text().splitlines():
        author, time = unescape(line.split('"')[1]), int(line.split('"')[3])
        tags = re.findall(r"#\w+", unescape(line.partition(">")[2].rpartition("<")[0]))
        if held[author] and held[author][-1][1] != tags:
            held[author].clear()
        if tags:
            held[author].append((time, tags))
        if len(held[author]) == 5:
            expected.append((author, held[author][0][0], time))
            held[author].clear()
    assert len(expected) > 20
    assert found == expected


def test_finance_finds_quotes_above_the_vwap(kernel):
    program, data = kernel("finance")
    merged = [(float(t), 0, sym, float(p), float(v)) for t, sym, p, v in rows(data / "trades.csv")]
    merged += [(float(t), 1, sym, float(bid), 0.0) for t, sym, bid, _ in rows(data / "quotes.csv")]
    last: dict[str, deque[tuple[float, float]]] = defaultdict(lambda: deque(maxlen=10))
    expected = []
    for time, is_quote, sym, price, volume in sorted(merged, key=lambda row: row[:2]):
        if not is_quote:
            last[sym].append((price, volume))
        elif len(last[sym]) == 10:
            vwap = sum(p * v for p, v in last[sym]) / sum(v for _, v in last[sym])
            if price > vwap:
                expected.append((time, sym, price, vwap))
    found = rows(run_to(program, data, "bargains.csv"))
    assert len(expected) > 50
    assert [(float(t), sym, float(bid)) for t, sym, bid, _ in found] == [row[:3] for row in expected]
    assert [float(vwap) for *_, vwap in found] == pytest.approx([vwap for *_, vwap in expected])


def test_the_network_kernel_writes_a_file_for_each_suspect(example, examples, tmp_path):
    example("network_monitoring/generate.py").generate(tmp_path, seconds=20)
    failures = Counter(
        int(line.split(" ", 2)[1])
        for path in tmp_path.glob("logs*.com")
        for line in path.read_text().splitlines()
        if line.endswith("login failed")
    )
    program = compile_file(examples / "network_monitoring/network_kernel.spl")
    run(program, environment=Environment(data_directory=tmp_path, output_directory=tmp_path))
    found = {path.name: path.read_text().split() for path in tmp_path.glob("user*.txt")}
    assert found == {f"user{uid}.txt": ["5"] * (failures[uid] // 5) for uid in (7, 13, 42)}


def test_pagerank_has_one_region_inside_its_loop(kernel):
    program, _ = kernel("pagerank")
    (region,) = regions(program.application)
    assert region.operators == ("Products",)
    assert region.ordering is Ordering.ROUND_ROBIN
    assert any(port.feedback for o in program.application.operators for port in o.inputs)


@pytest.mark.xdist_group("spark")
def test_pagerank_runs_its_region_on_channels_on_spark_and_can_be_resumed(kernel, tmp_path):
    program, data = kernel("pagerank")
    out = tmp_path / "out"
    out.mkdir()

    def run_for(seconds: float | None) -> SparkRun:
        job = compile_fused(
            program,
            everything_fused(program.application),
            channels=2,
            loops="batches",
            environment=Environment(data_directory=data, output_directory=out),
        )
        return run_on_spark(job, session(), checkpoint=tmp_path / "job", seconds=seconds)

    assert run_for(2.0).stopped == "time"
    outcome = run_for(None)
    assert outcome.resumed
    channels = json.loads((tmp_path / "job" / "plan.json").read_text())["channels"]
    assert channels[outcome.pes.index(("Products",))] == 2
    assert outcome.totals.received["Products"] == [40]
    assert files(out) == run_reference(program, data)


def test_nlp_is_one_stateless_operator_in_a_region(kernel):
    (region,) = regions(kernel("twitter_nlp")[0].application)
    assert (region.operators, region.ordering) == (("Words",), Ordering.ROUND_ROBIN)


def test_cep_has_two_regions_with_a_shuffle_by_author_and_order_matters(kernel):
    left, right = regions(kernel("twitter_cep")[0].application)
    assert (left.operators, left.first_joint, left.last_joint) == (("Tweets",), Joint.SPLIT, Joint.SHUFFLE)
    assert (right.operators, right.key, right.last_joint) == (("Campaigns",), {"author"}, Joint.MERGE)
    assert {left.ordering, right.ordering} == {Ordering.SEQNO_AND_PULSES}


def test_in_finance_only_combine_is_not_parallel(kernel):
    application = kernel("finance")[0].application
    assert [region.operators for region in regions(application)] == [("Vwap",), ("Project",), ("Bargains",)]
    refused = parallel_regions(application).refused
    assert [id_ for id_ in refused if application.operator[id_].inputs and application.operator[id_].outputs] == [
        "Combined"
    ]


def test_the_network_kernel_is_shuffled_and_has_no_order_to_keep(examples):
    program = compile_file(examples / "network_monitoring/network_kernel.spl")
    left, right = regions(program.application)
    assert (left.operators, left.key) == (("Messages", "Failures"), {"server"})
    assert (right.operators, right.key) == (("Summaries", "Suspects", "Sink"), {"uid"})
    assert (left.first_joint, left.last_joint) == (Joint.PARALLEL_SOURCE, Joint.SHUFFLE)
    assert right.last_joint is Joint.PARALLEL_SINK
    assert left.ordering is right.ordering is Ordering.ROUTING_ONLY


@pytest.mark.parametrize("name", SIZES)
def test_a_kernel_is_the_same_on_channels_and_its_models_hold(name, kernel, tmp_path):
    program, data = kernel(name)
    wanted = run_reference(program, data)
    assert run_reference(verify_models(program), data) == wanted
    out = tmp_path / "out"
    out.mkdir()
    plan = physical_plan(program.application, everything_fused(program.application), 3)
    assert plan.channels == 3
    run_plan(program, plan, Environment(data_directory=data, output_directory=out), turns_per_batch=200)
    assert files(out) == wanted
