from dataclasses import replace

import pytest

from penstock.base.diagnostics import UserError
from penstock.toolkit.core.operator_registry import Registry, standard


def test_every_operator_of_the_standard_toolkit_is_found():
    wanted = """
        Aggregate Barrier Beacon Combine Custom DeDuplicate Delay DirectoryScan DynamicFilter Export FileSink FileSource
        Filter Format Functor Gate Import Join Match MetricsSink Pair Parse Punctor Sort Split Switch ThreadedSplit
        Throttle Union""".split()
    assert set(wanted) <= set(standard().names())


def test_names_are_unique_and_the_table_is_in_alphabetical_order():
    modules = [d.runtime.__module__.rpartition(".")[2] for d in standard().definitions()]
    assert modules == sorted(modules)


@pytest.mark.parametrize("name", ["Filter", "spl::Filter", "spl.relational::Filter"])
def test_a_standard_operator_is_found_under_all_its_names(name):
    found = standard().find(name)
    assert found is not None
    assert found.kind == "Filter"


def test_a_users_operator_hides_a_standard_one_where_its_namespace_is_used():
    mine = replace(standard().get("Filter"), namespace="my.ns")
    registry = standard().extended([mine])
    assert registry.find("Filter", ["my.ns"]) is mine
    assert registry.find("Filter") is standard().get("Filter")
    assert registry.find("my.ns::Filter") is mine
    assert registry.find("other::Filter") is None
    assert registry.get("my.ns::Filter") is mine


def test_an_unknown_operator_gets_a_suggestion():
    with pytest.raises(UserError, match="there is no operator `Fliter`; did you mean `Filter`"):
        standard().get("Fliter")


def test_two_operators_of_one_name_are_an_error():
    definition = standard().get("Filter")
    with pytest.raises(UserError, match="two operators are named `Filter`"):
        Registry([definition, replace(definition, doc="another")])


def test_every_standard_operator_is_documented():
    for definition in standard().definitions():
        assert definition.doc.endswith("."), definition.name
        for param in definition.params:
            assert param.doc.endswith((".", "`", ")")), f"{definition.name}.{param.name}"
