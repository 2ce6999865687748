"""What tasks tell of where they ran is judged by what the program demands."""

from __future__ import annotations

import pytest

from penstock.base.diagnostics import Infeasible, UserError
from penstock.codegen.plan.physical import PhysicalPlan, physical_plan
from penstock.lang import compile_text
from penstock.placement.live.host_demands import HostDemands
from penstock.runtime.pes.traffic import TaskTraffic

NAMES = ("A", "B", "C")


def made_plan(channels: int = 1, **placement: str) -> PhysicalPlan:
    """A chain between a source and a sink, with a placement for some operators; B is by key."""
    config = {name: f"config placement: {placement[name]};" if name in placement else "" for name in (*NAMES, "Out")}
    text = f"""composite Main {{ graph
        stream<int32 k> In = Beacon() {{ param iterations: 3; }}
        stream<In> A = Functor(In) {{ output A: k = k + 1; {config["A"]} }}
        stream<In> B = Aggregate(A) {{ window A: sliding, count(2), count(1), partitioned; param partitionBy: k;
          {config["B"]} }}
        stream<In> C = Functor(B) {{ output C: k = k + 1; {config["C"]} }}
        () as Out = FileSink(C) {{ param file: "out.csv"; {config["Out"]} }} }}"""
    return physical_plan(compile_text(text).application, [("In",), *((name,) for name in NAMES), ("Out",)], channels)


def ran(plan: PhysicalPlan, **hosts: str) -> list[TaskTraffic]:
    """Tasks on hosts, by the name of the operator; channels apart by blanks."""
    return [
        TaskTraffic(pe=plan.home[name], channel=channel, executor="0", host=host)
        for name, listed in hosts.items()
        for channel, host in enumerate(listed.split())
    ]


def test_what_is_kept_is_not_complained_of() -> None:
    plan = made_plan(A='host("gpu")', B='hostExlocation("x")', C='hostExlocation("x")')
    demands = HostDemands(plan, {"h1": frozenset(["gpu"])}, "driver")
    demands.check(ran(plan, In="h2", A="h1", B="h1", C="h2"))


@pytest.mark.parametrize(
    ("placement", "hosts", "told"),
    [
        ({"A": 'host("gpu")'}, {"A": "h2"}, "resource_match of `A` to `gpu`: `A` has run on `h2`"),
        (
            {"B": 'hostColocation("x")', "C": 'hostColocation("x")'},
            {"B": "h1", "C": "h2"},
            "host_colocation of `B`, `C`: they have run on `h1`, `h2`",
        ),
        (
            {"B": 'hostExlocation("x")', "C": 'hostExlocation("x")'},
            {"B": "h1", "C": "h1"},
            "host_exlocation of `B`, `C`: `B` and `C` have run on `h1`",
        ),
        ({"B": "hostIsolation"}, {"A": "h1", "B": "h1"}, "host_dedication of `B`: `B` and `A` have run on `h1`"),
        (
            {"C": 'hostExlocation("x")', "Out": 'hostExlocation("x")'},
            {"C": "driver"},
            "host_exlocation of `C`, `Out`: `C` and `Out` have run on `driver`",
        ),
    ],
)
def test_what_is_broken_stops_the_job(placement: dict[str, str], hosts: dict[str, str], told: str) -> None:
    plan = made_plan(**placement)
    demands = HostDemands(plan, {"h1": frozenset(["gpu"])}, "driver")
    with pytest.raises(UserError) as broken:
        demands.check(ran(plan, **hosts))
    assert str(broken.value).partition("; an executor")[0] == f"error: a demand on hosts was broken: {told}"


def test_a_partition_that_only_passes_rows_on_may_be_anywhere() -> None:
    plan = made_plan(channels=2, A='host("h1")')
    demands = HostDemands(plan, {}, "driver")
    assert plan.pes[plan.home["B"]].channels == 2
    wide = next(pe for pe in plan.pes if pe.operators == ("B",))
    demands.check(ran(plan, B="h1 h2"))
    single = made_plan(channels=2, B='host("h1")')
    with pytest.raises(UserError, match="`B` has run on `h2`"):
        HostDemands(single, {}, "driver").check(ran(single, B="h1 h2"))
    assert wide.role == "stateful"


def test_a_source_may_be_read_on_a_host_that_is_for_another_alone() -> None:
    plan = made_plan(B="hostIsolation")
    demands = HostDemands(plan, {}, "driver")
    rules = demands.rules(["h1", "h2"])
    assert len(rules.allowed[plan.home["B"]]) == 1
    demands.check(ran(plan, In="h1 h2", A="h1", B="h2", C="h1"))
    with pytest.raises(Infeasible, match="host_dedication of `B`"):
        demands.rules(["h1"])


def test_a_sink_is_on_the_host_of_the_driver() -> None:
    plan = made_plan(Out='host("far")')
    with pytest.raises(Infeasible, match="resource_match of `Out` to `far`"):
        HostDemands(plan, {}, "driver").rules(["h1", "h2"])
    HostDemands(plan, {"driver": frozenset(["far"])}, "driver").rules(["h1", "h2"])
    apart = made_plan(C='hostExlocation("x")', Out='hostExlocation("x")')
    rules = HostDemands(apart, {}, "h1").rules(["h1", "h2"])
    assert rules.allowed[apart.home["C"]] == {"h2"}
