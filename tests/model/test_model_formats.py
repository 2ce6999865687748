from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from model_strategies import clusters, profiles, transfers

from penstock.base.diagnostics import UserError
from penstock.model import read_hosts, read_profile, read_transfer, write_profile, write_transfer
from penstock.model.hosts import hosts_from_json, hosts_to_json
from penstock.model.profile_format import profile_from_json, profile_to_json
from penstock.model.transfer import PARTS, transfer_from_json, transfer_to_json

FORMATS = Path(__file__).parents[2] / "docs/formats"

A = {"id": "A", "rate_tps": 10, "cpu_seconds": 0.1, "selectivity": [1]}
B = {"id": "B", "rate_tps": 10, "cpu_seconds": 0.1}
S = {"id": "S", "from": "A", "to": ["B"], "rate_tps": 10, "tuple_bytes": 8}


def _profile(**changes):
    return {"version": 1, "mips": 1000, "operators": [A, B], "streams": [S], **changes}


@given(profiles())
@settings(max_examples=50, deadline=None)
def test_a_profile_survives_being_written_and_read(profile):
    assert profile_from_json(json.loads(json.dumps(profile_to_json(profile)))) == profile


@given(clusters())
@settings(max_examples=50, deadline=None)
def test_hosts_survive_being_written_and_read(hosts):
    back = hosts_from_json(json.loads(json.dumps(hosts_to_json(hosts))) | {"racks": []})
    assert back.hosts == hosts.hosts


@given(transfers())
@settings(max_examples=50, deadline=None)
def test_a_calibration_survives_being_written_and_read(transfer):
    assert transfer_from_json(json.loads(json.dumps(transfer_to_json(transfer)))) == transfer


def test_files_are_read_as_they_were_written(tmp_path):
    profile = profile_from_json(_profile())
    write_profile(profile, tmp_path / "profile.json")
    assert read_profile(tmp_path / "profile.json") == profile
    transfer = transfer_from_json({"version": 1, "mips": 1000, **{key: {} for key in PARTS}})
    write_transfer(transfer, tmp_path / "transfer.json")
    assert read_transfer(tmp_path / "transfer.json") == transfer


def test_the_racks_of_a_file_have_uplinks():
    racks = [{"id": "north", "uplink_mbps": 8}]
    hosts = hosts_from_json({"hosts": [{"id": "h", "capacity": 100, "rack": "north"}], "racks": racks})
    assert hosts.uplink_bytes.tolist() == [1_000_000.0]
    assert hosts_to_json(hosts)["racks"] == racks


@pytest.mark.parametrize("name", ["profile.md", "hosts.md"])
def test_the_examples_of_the_documentation_are_read(name):
    blocks = [json.loads(b) for b in re.findall(r"```json\n(.*?)```", (FORMATS / name).read_text(), re.DOTALL)]
    assert blocks
    for block in blocks:
        if "operators" in block:
            assert profile_from_json(block).operators
        elif "hosts" in block:
            assert hosts_from_json(block).hosts
        else:
            assert transfer_from_json(block).mips > 0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"version": 2}, "the profile has version 2; this Penstock reads version 1"),
        ({"mips": 0}, "the `mips` of the profile is 0; write a number above 0"),
        ({"operatros": []}, "the profile has an unknown key `operatros`; did you mean `operators`?"),
        ({"operators": []}, "the profile has no operators"),
        ({"operators": {}}, "the `operators` of the profile is {}; write a list"),
        ({"operators": [A, B, B]}, "`operators` has two of the id `B`"),
        ({"operators": [A, B, 7]}, "operators[2] is 7; write an object"),
        ({"operators": [A, {**B, "rate_tps": -1}]}, "the `rate_tps` of `B` is -1; write a number from 0 up"),
        ({"operators": [A, {**B, "cpu_seconds": "fast"}]}, 'the `cpu_seconds` of `B` is "fast"; write a number'),
        ({"operators": [A, {"id": "B", "rate_tps": 1}]}, "`B` has no `cpu_seconds`; write a number from 0 up"),
        ({"operators": [A, {**B, "id": 3}]}, "the `id` of operators[1] is 3; write a name"),
        (
            {"operators": [A, {**B, "cpu_fraction": 3}]},
            "the `cpu_fraction` of `B` is 3, but `rate_tps` times `cpu_seconds` is 1",
        ),
        ({"streams": [{**S, "from": "AA"}]}, "not listed: `AA` does not exist"),
        ({"streams": [{**S, "to": ["C"]}]}, "`S` goes `to` an operator that is not listed: `C` does not exist"),
        ({"streams": [{**S, "port": 1}]}, "`S` leaves port 1 of `A`, which has 1 in `selectivity`"),
        ({"streams": [{**S, "feedback": ["A"]}]}, "`S` is `feedback` for an operator that is not in its `to`: `A`"),
        ({"streams": [S, {**S, "id": "T"}]}, "`S` and `T` both leave port 0 of `A`; a port makes one stream"),
        (
            {"streams": [{**S, "rate_bytes": 7}]},
            "the `rate_bytes` of `S` is 7, but `rate_tps` times `tuple_bytes` is 80",
        ),
        ({"streams": [{**S, "tuple_bytes": float("inf")}]}, "the `tuple_bytes` of `S` is Infinity"),
    ],
)
def test_a_bad_profile_is_told_what_is_wrong(changes, message):
    with pytest.raises(UserError) as caught:
        profile_from_json(_profile(**changes), "p.json")
    assert "p.json: " in str(caught.value)
    assert message in str(caught.value)


def test_every_mistake_is_named_at_once():
    bad = _profile(mips=-1, operators=[{**A, "rate_tps": None}, B], streams=[{**S, "tuple_bytes": []}])
    with pytest.raises(UserError) as caught:
        profile_from_json(bad)
    assert len(caught.value.diagnostics) == 3


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({}, "the file has no `hosts`; write a list"),
        ({"hosts": []}, "`hosts` is empty"),
        ({"hosts": [{"id": "h"}]}, "`h` has no `capacity`; write a number above 0"),
        ({"hosts": [{"id": "h", "capacity": 5, "cores": 1.5}]}, "the `cores` of `h` is 1.5; write a whole number"),
        (
            {"hosts": [{"id": "h", "capacity": 5, "link_mbps": 0}]},
            "the `link_mbps` of `h` is 0; write a number above 0",
        ),
        ({"hosts": [{"id": "h", "capacity": 5, "speed": 3}]}, "`h` has an unknown key `speed`"),
        (
            {"hosts": [{"id": "h", "capacity": 5}], "racks": [{"id": "r", "uplink_mbps": 9}]},
            "no host stands in rack `r`",
        ),
    ],
)
def test_a_bad_file_of_hosts_is_told_what_is_wrong(value, message):
    with pytest.raises(UserError) as caught:
        hosts_from_json(value, "hosts.json")
    assert f"hosts.json: {message}" in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"version": None}, "the calibration has no `version`"),
        ({"jvm_feed": 3}, "the `jvm_feed` of the calibration is 3; write an object"),
        ({"jvm_drain": {"seconds_per_tuple": -1}}, "the `seconds_per_tuple` of `jvm_drain` is -1"),
        ({"jvm_drain": {"seconds": 1}}, "`jvm_drain` has an unknown key `seconds`"),
        ({"pipelined": "yes"}, 'the `pipelined` of the calibration is "yes"; write true or false'),
    ],
)
def test_a_bad_calibration_is_told_what_is_wrong(changes, message):
    value = {"version": 1, "mips": 1000, **{key: {} for key in PARTS}, **changes}
    with pytest.raises(UserError) as caught:
        transfer_from_json(value, "t.json")
    assert f"t.json: {message}" in str(caught.value)


def test_a_file_that_is_cut_short_is_shown_where(tmp_path):
    path = tmp_path / "profile.json"
    path.write_text('{"version": 1,\n "mips": ')
    with pytest.raises(UserError, match=r"profile\.json:2:10: error: not JSON: .*; the file is cut short"):
        read_profile(path)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(UserError, match=r"cannot read `.*nothing.json`: No such file"):
        read_hosts(tmp_path / "nothing.json")


def test_a_file_that_holds_something_else_is_refused(tmp_path):
    path = tmp_path / "list.json"
    path.write_text("[1, 2]")
    with pytest.raises(UserError, match=r"the file holds \[1, 2\]; write an object"):
        read_transfer(path)
