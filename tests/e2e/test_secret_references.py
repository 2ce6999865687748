"""A secret that is named by reference reaches who needs it, and is shown and kept nowhere."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from penstock.base import redaction
from penstock.base.diagnostics import UserError
from penstock.base.secret_references import is_reference, reveal, reveal_named, reveal_url

SECRET = "Xq7-geheim-42"

PROGRAM = """
composite Main {
  graph
    stream<rstring begins, int32 x> In = FileSource() { param file: "in.csv"; }
    stream<int32 x, rstring kept> Known = Functor(In) {
      param filter: begins == substring(getSubmissionTimeValue("token"), 0, 3);
      output Known: kept = substring(getApplicationConfigurationProperty("market", "password", "none"), 0, 3);
    }
    stream<int32 x, rstring kept> Checked = Custom(Known) { logic onTuple Known: {
      assert(x < 2, "it was " + getSubmissionTimeValue("token")); submit(Known, Checked); } }
    () as Out = FileSink(Checked) { param file: "out.csv"; }
}
"""


@pytest.fixture
def secret(tmp_path, monkeypatch):
    monkeypatch.setattr(redaction, "_protected", set())
    monkeypatch.setenv("SECRET_OF_TEST", SECRET)
    (tmp_path / "secret").write_text(SECRET + "\n")
    return tmp_path


def test_references_are_looked_up_and_other_values_left_alone(secret):
    assert reveal("env:SECRET_OF_TEST") == reveal(f"file:{secret}/secret") == SECRET
    assert redaction.redact(f"at {SECRET}.") == "at ***."
    for value in ("plain", "env:", "env:not a name", "file:///data/in.csv", "env", "", "ENV:HOME"):
        assert (reveal(value), is_reference(value)) == (value, False)
    assert reveal_named("file", "file:in.csv") == "file:in.csv"


@pytest.mark.parametrize(
    ("reference", "why"),
    [
        ("env:NO_SUCH_VARIABLE_HERE", "the environment variable is not set"),
        ("file:/no/such/file", "cannot be read: No such file"),
        ("file:/tmp", "cannot be read: Is a directory"),
        ("file:/dev/zero", "is longer than 65,536 bytes"),
    ],
)
def test_a_secret_that_is_not_there_is_named_by_its_reference(secret, reference, why):
    with pytest.raises(UserError, match=why) as caught:
        reveal(reference)
    assert f"`{reference}`" in str(caught.value)


def test_of_a_url_only_the_password_is_left_out(secret, monkeypatch):
    monkeypatch.setenv("SECRET_URL", f"postgresql://me:{SECRET}@db:5432/market")
    assert reveal_url("env:SECRET_URL") == f"postgresql://me:{SECRET}@db:5432/market"
    assert SECRET not in redaction.redact(f"cannot reach me with {SECRET}")


@pytest.mark.parametrize(
    "engine", ["reference", "local", pytest.param("spark", marks=pytest.mark.xdist_group("spark-commands"))]
)
@pytest.mark.parametrize("reference", ["env:SECRET_OF_TEST", "file:{place}/secret"])
def test_it_is_in_no_file_and_no_output_of_a_run(secret, engine, reference):
    if engine == "spark" and reference.startswith("file"):
        pytest.skip("one run of Spark is enough")
    place, reference = secret, reference.format(place=secret)
    (place / "data").mkdir()
    (place / "data/in.csv").write_text("Xq7,1\nother,2\n")
    (place / "app.spl").write_text(PROGRAM)
    (place / "config.json").write_text(json.dumps({"market": {"password": reference}}))
    command = [sys.executable, "-m", "penstock.cli"]
    options = [str(place / "app.spl"), "--data", "data", "--set", f"token={reference}"]
    environment = {**os.environ, "PENSTOCK_APP_CONFIG": str(place / "config.json")}
    run = ["run", *options, "--engine", engine, "--out", "out", "--json", "--app-config", "config.json"]
    run += ["--checkpoint", "kept", "--report", "report.json", "--master", "local[1]"] if engine == "spark" else []
    told = ""
    for arguments in (run, ["explain", *options, "--stage", "generated"], ["explain", *options, "--html", "page.html"]):
        done = subprocess.run(
            [*command, *arguments], cwd=place, env=environment, capture_output=True, text=True, check=False, timeout=300
        )
        assert done.returncode == 0, done.stderr
        told += done.stdout + done.stderr
    assert (place / "out/out.csv").read_text() == '1,"Xq7"\n'
    assert SECRET not in told
    kept = [
        path for path in place.rglob("*") if path.is_file() and path not in (place / "secret", place / "data/in.csv")
    ]
    assert len(kept) > (30 if engine == "spark" else 3)
    assert [path for path in kept if SECRET.encode() in path.read_bytes()] == []
    (place / "data/in.csv").write_text("Xq7,5\n")
    failed = subprocess.run([*command, *run], cwd=place, env=environment, capture_output=True, text=True, check=False)
    if engine != "spark":
        assert failed.returncode == 1
        assert "it was ***" in failed.stderr
        assert SECRET not in failed.stderr + failed.stdout
