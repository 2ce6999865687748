"""What constraints demand of PEs holds in every plan for Spark; what they demand of hosts is warned of."""

from __future__ import annotations

import json
import random
from dataclasses import replace

import pytest
from optimizer_settings import setting

from penstock.base.diagnostics import Infeasible, UserError
from penstock.cli import main
from penstock.compiler import Choice, Options
from penstock.compiler.fusion_choice import fuse_by_costs
from penstock.compiler.pipeline import run_stages
from penstock.compiler.without_costs import fuse_without_costs as without_costs
from penstock.ir.constraints import Constraint, ConstraintKind
from penstock.lang import compile_text
from penstock.optimizer import PlanFile, fingerprint, inner_operators, unfused, write_plan
from penstock.parallel.pe_demands import broken_demands, pe_demands, unapplied_demands

NAMES = ("A", "B", "C", "D", "E")
ALGORITHMS = ("greedy", "cola", "advanced-cola", "exact", "throughput")


def program(**placement: str):
    """A chain of five operators between a source and a sink, with a placement for some of them."""
    lines, before = [], "In"
    for name in NAMES:
        config = f"config placement: {placement[name]};" if name in placement else ""
        lines.append(f"stream<In> {name} = Functor({before}) {{ output {name}: n = n + 1; {config} }}")
        before = name
    sinks = "".join(f"() as {s} = FileSink(E) {{ param file: '{s}'; }}\n".replace("'", '"') for s in ("Out", "More"))
    head = "stream<int32 n> In = Beacon() { param iterations: 3; }\n"
    return compile_text("composite Main { graph " + head + "\n".join(lines) + sinks + "}")


def chosen(made, **options) -> Choice:
    choice = run_stages(made, Options(**options), until="choose fusion").choice
    assert choice is not None
    return choice


def by_algorithm(application, profile, option: str, channels: int, cores: int):
    return fuse_by_costs(application, profile, channels, Options(fusion=option, cores=cores))


def groups_of(made, option: str):
    application = made.application
    if option in ("none", "all", "manual"):
        return without_costs(application, option, 1)
    return by_algorithm(application, setting(application).profile, option, 1, cores=2)


def together(groups, one: str, other: str) -> bool:
    return any(one in group and other in group for group in groups)


@pytest.mark.parametrize("option", ["none", "all", "manual", *ALGORITHMS])
def test_operators_that_may_not_share_a_host_share_no_pe(option: str):
    apart = groups_of(program(B='hostExlocation("x")', D='hostExlocation("x")'), option)
    assert not together(apart, "B", "D")
    alone = groups_of(program(C="hostIsolation"), option)
    assert ("C",) in [tuple(group) for group in alone]
    matched = groups_of(program(A='host("one")', E='host("two")'), option)
    assert not together(matched, "A", "E")
    # B and D are on one host, and D is not on that of E: so B is not, either.
    through = groups_of(
        program(B='hostColocation("y")', D='hostColocation("y"), hostExlocation("x")', E='hostExlocation("x")'), option
    )
    assert not together(through, "B", "E")
    assert not together(through, "D", "E")


@pytest.mark.parametrize("option", ["none", "all", "manual", *ALGORITHMS])
def test_replicas_share_no_pe(option: str):
    made = program()
    demand = Constraint(kind=ConstraintKind.HIGH_AVAILABILITY, replicas=(("A", "B"), ("D",)))
    constrained = replace(made, application=replace(made.application, constraints=(demand,)))
    groups = groups_of(constrained, option)
    assert not together(groups, "A", "D")
    assert not together(groups, "B", "D")


def test_replicas_that_must_share_a_host_are_a_contradiction():
    kinds = ConstraintKind
    replicas = Constraint(kind=kinds.HIGH_AVAILABILITY, replicas=(("A",), ("D",)))
    together = Constraint(kind=kinds.HOST_COLOCATION, operators=("A", "C", "D"))
    application = replace(program().application, constraints=(replicas, together))
    with pytest.raises(Infeasible) as refused:
        pe_demands(application)
    assert refused.value.conflicts == ("high_availability of `A` | `D`", "host_colocation of `A`, `C`, `D`")


def test_what_may_share_a_host_may_share_a_pe():
    same = program(A='host("one", "two")', B='host("two", "three")', C='hostColocation("y")', D='hostColocation("y")')
    assert len(groups_of(same, "all")) == 1


def test_hosts_that_meet_in_pairs_and_not_together_are_told_apart():
    made = program(A='host("one", "two")', B='host("two", "three")', C='host("one", "three")')
    groups = groups_of(made, "all")
    assert not list(broken_demands(made.application, groups))
    assert list(broken_demands(made.application, [NAMES]))


def test_no_third_pe_brings_exlocated_operators_onto_one_host():
    made = program(A='hostExlocation("x")', B='hostColocation("y")', D='hostColocation("y")', E='hostExlocation("x")')
    around = [("A", "B"), ("C",), ("D", "E")]
    assert "host_exlocation of `A`, `E`" in next(broken_demands(made.application, around))
    for option in ("all", *ALGORITHMS):
        assert not list(broken_demands(made.application, groups_of(made, option)))


@pytest.mark.parametrize(
    ("placement", "conflict"),
    [
        (
            {"A": 'hostExlocation("x"), hostColocation("y")', "B": 'hostExlocation("x"), hostColocation("y")'},
            "host_colocation of `A`, `B`; host_exlocation of `A`, `B`",
        ),
        (
            {"A": 'partitionColocation("y"), host("one")', "B": 'partitionColocation("y"), host("two")'},
            "pe_colocation of `A`, `B`; resource_match of `A` to `one`; resource_match of `B` to `two`",
        ),
        (
            {"A": 'hostIsolation, hostColocation("y")', "B": 'hostColocation("y")', "C": 'host("one")'},
            "host_colocation of `A`, `B`; host_dedication of `A`",
        ),
        (
            {"A": 'partitionIsolation, partitionColocation("y")', "B": 'partitionColocation("y")'},
            "pe_colocation of `A`, `B`; pe_dedication of `A`",
        ),
    ],
)
def test_contradictions_are_named_without_those_that_have_no_part_in_them(placement, conflict: str):
    made = program(**placement)
    with pytest.raises(Infeasible) as caught:
        groups_of(made, "all")
    assert sorted(caught.value.conflicts) == sorted(conflict.split("; "))


def test_a_plan_that_breaks_a_constraint_is_refused(tmp_path):
    made = program(B='hostExlocation("x")', D='hostExlocation("x")', C="partitionIsolation")
    application, path = made.application, tmp_path / "plan.json"
    kept = PlanFile(application="Main", fingerprint=fingerprint(application), fusion=(("A", "B"), ("C",), ("D", "E")))
    write_plan(kept, path)
    assert chosen(made, fusion="none", plan=path).fusion == kept.fusion
    broken = PlanFile(
        application="Main", fingerprint=fingerprint(application), fusion=(("A",), ("C",), ("B", "D", "E"))
    )
    write_plan(broken, path)
    with pytest.raises(UserError, match=r"host_exlocation of `B`, `D`: `B` and `D` would be on one host"):
        chosen(made, fusion="none", plan=path)


def test_a_checkpoint_that_breaks_a_constraint_is_refused(tmp_path):
    (tmp_path / "plan.json").write_text(json.dumps({"pes": [["In"], list(NAMES)]}))
    with pytest.raises(UserError, match="the PEs break a constraint of the program: host_dedication of `C`"):
        chosen(program(C="hostIsolation"), checkpoint=tmp_path)


def test_what_is_not_applied_is_warned_of():
    assert not list(unapplied_demands(program(C="partitionIsolation").application))
    (hosts,) = unapplied_demands(program(A='host("one")', B='hostColocation("x")', C='hostColocation("x")').application)
    assert hosts == (
        "placement: all runs on this machine, so these only decide which operators may share a PE: "
        "host_colocation of `B`, `C`; resource_match of `A` to `one`"
    )
    text = """composite Main { graph
        stream<int32 n> In = Beacon() { param iterations: 3; config placement: partitionColocation("x"); }
        stream<In> A = Functor(In) { config placement: partitionColocation("x"); }
        () as One = FileSink(A) { param file: "a"; config placement: partitionExlocation("y"); }
        () as Two = FileSink(A) { param file: "b"; config placement: partitionExlocation("y"); } }"""
    (ends,) = unapplied_demands(compile_text(text).application)
    assert ends.endswith("not applied to them: pe_colocation of `In`, `A`; pe_exlocation of `One`, `Two`")


def test_a_run_warns_once_before_anything_else(tmp_path, monkeypatch, capsys):
    path = tmp_path / "main.spl"
    path.write_text(
        'composite Main { graph stream<int32 n> In = Beacon() { param iterations: 3; config placement: host("one"); }'
        ' () as Out = FileSink(In) { param file: "a"; } }'
    )

    def no_spark(master: str) -> None:
        raise UserError("stop here")

    monkeypatch.setattr("penstock.spark.job.session.open_session", no_spark)
    monkeypatch.setattr("sys.argv", ["penstock", "run", str(path)])
    with pytest.raises(SystemExit):
        main()
    assert capsys.readouterr().err.count("warning: placement: all runs on this machine") == 1


def test_random_constraints_hold_in_every_plan():
    rng = random.Random(5)
    application = program().application
    kinds = list(ConstraintKind)
    kept = 0
    for _ in range(150):
        drawn = [_constraint(rng, rng.choice(kinds)) for _ in range(rng.randint(1, 4))]
        constrained = type(application)(
            name="Main", operators=application.operators, functions=(), constraints=tuple(drawn)
        )
        try:
            pe_demands(constrained)
            found = [without_costs(constrained, option, 1) for option in ("all", "none")]
            found.append(by_algorithm(constrained, setting(constrained).profile, "advanced-cola", 1, cores=2))
        except Infeasible:
            # Then not even the finest fusion keeps them, if it is allowed by the order of the plan.
            assert any(map(str, broken_demands(constrained, unfused(constrained)))), drawn
            continue
        kept += 1
        for groups in found:
            assert not list(broken_demands(constrained, groups)), (drawn, groups)
            assert sorted(id_ for group in groups for id_ in group) == sorted(inner_operators(constrained))
    assert kept > 60


def _constraint(rng: random.Random, kind: ConstraintKind) -> Constraint:
    if kind is ConstraintKind.RESOURCE_MATCH:
        hosts = tuple(sorted(rng.sample(("h1", "h2", "h3"), rng.randint(1, 2))))
        return Constraint(kind=kind, operators=(rng.choice(NAMES),), hosts=hosts)
    if kind is ConstraintKind.HIGH_AVAILABILITY:
        names = rng.sample(NAMES, 3)
        return Constraint(kind=kind, replicas=((names[0],), tuple(names[1:])))
    count = 1 if kind in (ConstraintKind.PE_DEDICATION, ConstraintKind.HOST_DEDICATION) else rng.randint(2, 3)
    return Constraint(kind=kind, operators=tuple(rng.sample(NAMES, count)))
