"""Cutting an application into PEs."""

from __future__ import annotations

import pytest

from penstock import App, col
from penstock.base.diagnostics import UserError
from penstock.codegen.plan.physical import physical_plan
from penstock.testing import feed


@pytest.fixture
def application():
    app = App("Test")
    a = app.source(feed([1]), "int32 x", name="A")
    b = a.filter(col.x > 0, name="B")
    c = b.filter(col.x > 1, name="C")
    d = b.filter(col.x > 2, name="D")
    c.union(d, name="E").write_file("out.csv", name="Sink")
    return app.program().application


def test_sources_and_sinks_are_set_apart_whatever_the_fusion(application):
    plan = physical_plan(application, [[o.id for o in application.operators]])
    assert [(pe.role, pe.operators) for pe in plan.pes] == [
        ("source", ("A",)),
        ("stateless", ("B", "C", "D", "E")),
        ("sink", ("Sink",)),
    ]
    assert [(e.stream, e.producer, e.consumer) for e in plan.edges] == [("A", 0, 1), ("E", 1, 2)]


def test_a_stream_has_an_edge_for_every_run_of_subscribers_in_another_pe(application):
    plan = physical_plan(application, [["B"], ["C"], ["D"], ["E"], ["A"], ["Sink"]])
    assert [(e.stream, e.subscribers) for e in plan.edges if e.stream == "B"] == [
        ("B", (("C", 0),)),
        ("B", (("D", 0),)),
    ]
    together = physical_plan(application, [["B"], ["C", "D"], ["E"]])
    assert [e.subscribers for e in together.edges if e.stream == "B"] == [(("C", 0), ("D", 0))]


def test_every_edge_leads_to_a_later_pe(application):
    plan = physical_plan(application, [["E"], ["D"], ["C"], ["B"]])
    assert all(e.producer < e.consumer for e in plan.edges)


def test_pes_that_form_a_cycle_are_refused(application):
    with pytest.raises(UserError, match=r"the PEs form a cycle through .*no path may leave a PE and come back"):
        physical_plan(application, [["B", "E"], ["C", "D"]])


def test_a_loop_that_is_cut_is_refused():
    app = App("Test")
    loop = app.feedback("int32 x")
    merged = app.source(feed([1]), "int32 x", name="A").union(loop, name="M")
    loop.connect(merged.filter(col.x > 3, name="F"))
    application = app.program().application
    assert physical_plan(application, [["M", "F"]])
    with pytest.raises(UserError, match="the loop over `F` is cut"):
        physical_plan(application, [["M"], ["F"]])
