"""The fusion problems of `penstock bench cola`: bargain detection after the COLA paper, and graphs at scale.

The graph is that of `examples/bargains` with 28 groups of symbols: 200 operators and 283 streams, as many as the
paper's
VWAP1. Its costs are assumed, with a seed, until profiles of real runs take their place:

- 100,000 ticks a second come in; groups of symbols differ in how much they trade (a Dirichlet share).
- Of the ticks of a group 40 % are trades and 50 % quotes; 5 % end up as bargains.
- A tuple costs an operator what its kind takes (`_MIPS_PER_KTPS`, in mips for a thousand tuples a second), give or
  take.
- A stream costs each end by its tuples and bytes. The operators behind the source select a group's ticks; the stream to
  them is taken to carry the selected ticks only, as a selection at the sender makes it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from penstock.fusion import FusionProblem, fusion_problem

GROUPS = 28
_TICKS_KTPS = 100.0
_SHARE_PASSED = {
    "Trades": 0.4,
    "Quotes": 0.5,
    "Sums": 0.4,
    "Vwap": 0.4,
    "Bargains": 0.05,
    "Spread": 0.4,
    "Scored": 0.05,
}
_TUPLE_BYTES = {
    "Ticks": 80,
    "Trades": 48,
    "Quotes": 40,
    "Sums": 32,
    "Vwap": 24,
    "Bargains": 56,
    "Spread": 32,
    "Scored": 64,
}
_MIPS_PER_KTPS = {
    "Trades": 1.0,
    "Quotes": 0.8,
    "Sums": 5.0,
    "Vwap": 0.8,
    "Bargains": 3.0,
    "Spread": 5.0,
    "Scored": 3.0,
}
_SOURCE_MIPS, _MARKET_MIPS, _REPORT_MIPS, _SINK_MIPS = 60.0, 20.0, 12.0, 8.0
_STREAM_MIPS_PER_KTPS, _STREAM_MIPS_PER_MBPS = 0.8, 0.15


def bargain_streams(groups: int = GROUPS) -> Iterator[tuple[str, str]]:
    """The streams of `examples/bargains`, as sender and receiver.

    Example:
        >>> len(list(bargain_streams())), len({end for stream in bargain_streams() for end in stream})
        (283, 200)
    """
    yield "Ticks", "Market"
    for group in (f"Group{i}" for i in range(groups)):
        yield "Ticks", f"{group}.Trades"
        yield "Ticks", f"{group}.Quotes"
        yield f"{group}.Trades", f"{group}.Sums"
        yield f"{group}.Sums", f"{group}.Vwap"
        yield f"{group}.Quotes", f"{group}.Bargains"
        yield f"{group}.Vwap", f"{group}.Bargains"
        yield f"{group}.Trades", f"{group}.Spread"
        yield f"{group}.Bargains", f"{group}.Scored"
        yield f"{group}.Spread", f"{group}.Scored"
        yield f"{group}.Scored", "Report"
    yield "Market", "Report"
    yield "Report", "Sink"


def bargain_problem(hosts: int, *, seed: int = 1, utilization: float = 0.7) -> FusionProblem:
    """Bargain detection on equal hosts.

    Args:
        hosts: How many there are.
        seed: Of the costs.
        utilization: The part of all capacities that the operators take; the rest is for streams between PEs.

    Example:
        >>> problem = bargain_problem(4)
        >>> problem.operators, problem.streams, problem.hosts.count
        (200, 283, 4)
    """
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.full(GROUPS, 2.0))
    pairs = list(bargain_streams())
    names = list(dict.fromkeys(end for pair in pairs for end in pair))
    index_of = {name: index for index, name in enumerate(names)}
    costs = np.array([_operator_mips(name, shares) for name in names]) * rng.lognormal(0.0, 0.25, len(names))
    streams = []
    flows = []
    for sender, receiver in pairs:
        ktps, tuple_bytes = _flow(sender, receiver, shares)
        mips = _STREAM_MIPS_PER_KTPS * ktps + _STREAM_MIPS_PER_MBPS * ktps * tuple_bytes * 8e-3
        streams.append((index_of[sender], index_of[receiver], float(mips * rng.lognormal(0.0, 0.15))))
        flows.append(ktps * tuple_bytes * 1000)
    capacity = float(costs.sum()) / hosts / utilization
    return fusion_problem(costs, streams, [capacity] * hosts, ids=names, stream_bytes=flows)


def _operator_mips(name: str, shares: np.ndarray) -> float:
    single = {"Ticks": _SOURCE_MIPS, "Market": _MARKET_MIPS, "Report": _REPORT_MIPS, "Sink": _SINK_MIPS}
    if name in single:
        return single[name]
    group, part = name.split(".")
    taken = {"Bargains": 0.9, "Scored": 0.45}.get(part, _SHARE_PASSED[part])
    return float(shares[int(group.removeprefix("Group"))] * _TICKS_KTPS * taken * _MIPS_PER_KTPS[part])


def _flow(sender: str, receiver: str, shares: np.ndarray) -> tuple[float, int]:
    """Thousands of tuples a second, and the bytes of a tuple."""
    if sender == "Ticks" and receiver == "Market":
        return _TICKS_KTPS / 10, _TUPLE_BYTES["Ticks"]
    if sender in ("Market", "Report"):
        return _TICKS_KTPS * _SHARE_PASSED["Scored"], _TUPLE_BYTES["Scored"]
    group, part = (receiver if sender == "Ticks" else sender).split(".")
    share = float(shares[int(group.removeprefix("Group"))])
    return share * _TICKS_KTPS * _SHARE_PASSED[part], _TUPLE_BYTES["Ticks" if sender == "Ticks" else part]


def large_problem(
    operators: int = 10_000, streams: int = 30_000, hosts: int = 100, *, utilization: float = 0.7, seed: int = 1
) -> FusionProblem:
    """A random layered graph: streams mostly to operators that are near, costs spread over two orders of magnitude.

    Without what streams cost, the operators load the hosts to `utilization`.

    Example:
        >>> problem = large_problem(100, 300, 4)
        >>> problem.operators, problem.streams
        (100, 300)
    """
    rng = np.random.default_rng(seed)
    targets = np.concatenate([np.arange(1, operators), rng.integers(1, operators, streams - operators + 1)])
    back = 1 + rng.geometric(0.02, len(targets))
    sources = np.maximum(targets - back, 0)
    far = rng.random(len(targets)) < 0.02
    sources[far] = (rng.random(int(far.sum())) * targets[far]).astype(np.int64)
    costs = rng.lognormal(2.0, 1.0, operators)
    stream_costs = rng.lognormal(0.5, 1.0, len(targets))
    capacity = float(costs.sum()) / hosts / utilization
    edges = zip(sources.tolist(), targets.tolist(), stream_costs.tolist(), strict=True)
    return fusion_problem(costs, edges, np.full(hosts, max(capacity, float(costs.max()) * 1.5)))
