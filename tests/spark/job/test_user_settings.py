"""What the user has set for Spark holds: given by `--conf`, by `spark-submit`, or in `spark-defaults.conf`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from penstock.base.diagnostics import UserError
from penstock.cli import cli
from penstock.spark.job.spark_home import installed
from penstock.spark.job.user_settings import asked_settings, default_settings, has_own_logging, with_theirs

LONG = pytest.mark.skipif("PENSTOCK_LONG" not in os.environ, reason="make test-spark has it; each starts a Spark")


@pytest.mark.parametrize("given", ["spark.ui.enabled", "ui.enabled=true", "spark=1", "=", "spark.a b=1", "spark..a=1"])
def test_what_is_no_setting_is_refused_in_a_line(given):
    with pytest.raises(UserError, match="is no setting of Spark"):
        asked_settings({"PENSTOCK_CONF": given})


def test_settings_have_values_with_any_characters_and_the_last_one_holds():
    text = "spark.a.b=x=y z \n\nspark.a.b=\nspark.c_d.e-f=--conf 'q'"
    assert asked_settings({"PENSTOCK_CONF": text}) == {"spark.a.b": "", "spark.c_d.e-f": "--conf 'q'"}
    with pytest.raises(UserError, match=r"`spark\.master` is not for --conf"):
        asked_settings({"PENSTOCK_CONF": "spark.master=yarn"})


def test_defaults_are_read_as_spark_reads_them(tmp_path):
    lines = [
        "# spark.a 1",
        "spark.ui.enabled   true",
        "spark.b=2",
        " spark.c : x y ",
        "other.d 4",
        "spark.driver.extraJavaOptions -Xss4m -Da=b",
    ]
    (tmp_path / "spark-defaults.conf").write_text("\n".join(lines))
    found = default_settings({"SPARK_CONF_DIR": str(tmp_path)}, tmp_path / "nowhere")
    assert found == {
        "spark.ui.enabled": "true",
        "spark.b": "2",
        "spark.c": "x y",
        "spark.driver.extraJavaOptions": "-Xss4m -Da=b",
    }
    assert default_settings({"SPARK_HOME": str(tmp_path / "nowhere")}, tmp_path) == {}


def test_options_of_java_are_kept_and_logging_is_the_users_where_he_has_some(tmp_path):
    ours = {"spark.driver.extraJavaOptions": "-Dlog4j2.configurationFile=ours", "spark.ui.enabled": "false"}
    theirs = {"spark.driver.extraJavaOptions": "-Xss4m", "spark.ui.enabled": "true"}
    options = "spark.driver.extraJavaOptions"
    assert with_theirs(ours, theirs, has_logging=False) == {options: f"{ours[options]} -Xss4m"}
    assert with_theirs(ours, theirs, has_logging=True) == {}
    assert with_theirs(ours, {options: "-Dlog4j2.level=debug"}, has_logging=False) == {"spark.ui.enabled": "false"}
    assert not has_own_logging({}, tmp_path)
    (tmp_path / "log4j2.properties.template").touch()
    assert not has_own_logging({"SPARK_CONF_DIR": str(tmp_path)}, tmp_path / "nowhere")
    (tmp_path / "log4j2.properties").touch()
    assert has_own_logging({"SPARK_CONF_DIR": str(tmp_path)}, tmp_path / "nowhere")


def test_the_option_reaches_the_settings_beside_what_the_environment_has(monkeypatch, tmp_path):
    monkeypatch.setenv("PENSTOCK_CONF", "spark.a.b=1\nspark.c=2")
    arguments = ["run", str(tmp_path / "none.spl"), "--conf", "spark.c=3", "--conf", "spark.ui.enabled=true"]
    CliRunner().invoke(cli, arguments)
    assert asked_settings() == {"spark.a.b": "1", "spark.c": "3", "spark.ui.enabled": "true"}


SCRIPT = """
import json, os, sys
from dataclasses import dataclass
import helper
from penstock import App
from penstock.testing import feed
from pyspark.sql import SparkSession

def where(t):
    return {"n": helper.double(t.n), "python": os.path.dirname(os.path.dirname(sys.executable))}

app = App("Main")
app.source(feed([(n,) for n in range(40)]), "int64 n", name="A").map(where, "int64 n, rstring python").write_csv(
    "out.csv")
app.run(out="OUT", channels=2).wait()
spark = SparkSession.builder.getOrCreate()
names = ["spark.master", "spark.app.name", "spark.ui.enabled", "spark.driver.extraJavaOptions", "spark.mine"]
print("FOUND", json.dumps({n: spark.sparkContext.getConf().get(n, None) for n in names}))
spark.stop()
"""


def submit(folder: Path, *options: str) -> tuple[dict[str, str | None], set[str]]:
    """Let spark-submit run the script; the settings that it found, and the Pythons that its function ran in."""
    (folder / "script.py").write_text(SCRIPT.replace("OUT", str(folder / "out")))
    (folder / "helper.py").write_text("def double(n):\n    return 2 * n\n")
    with zipfile.ZipFile(folder / "helpers.zip", "w") as zipped:
        zipped.write(folder / "helper.py", "helper.py")
    (folder / "helper.py").unlink()
    variables = {k: v for k, v in os.environ.items() if k not in ("PYSPARK_PYTHON", "SPARK_HOME", "PENSTOCK_JARS")}
    variables |= {"PYSPARK_DRIVER_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    command = [sys.executable, str(installed() / "bin" / "spark-submit")]
    done = subprocess.run(
        [*command[1:], "--py-files", str(folder / "helpers.zip"), *options, str(folder / "script.py")],
        env=variables,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-9000:]}"
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("FOUND ")]
    rows = [text.split(",") for text in (folder / "out" / "out.csv").read_text().splitlines()]
    assert [int(n) for n, _ in rows] == [2 * n for n in range(40)]
    return json.loads(line.removeprefix("FOUND ")), {python.strip('"') for _, python in rows}


@LONG
def test_a_submitted_program_has_the_master_and_the_settings_of_spark_submit(tmp_path):
    given = ["--conf", "spark.ui.enabled=true", "--conf", "spark.ui.port=0", "--conf", "spark.mine=1"]
    found, pythons = submit(
        tmp_path, "--master", "local[2]", "--name", "mine", "--driver-java-options", "-Da=b", *given
    )
    options = found.pop("spark.driver.extraJavaOptions")
    assert options is not None
    assert options.endswith("-Da=b")
    assert "log4j" not in options
    assert found == {
        "spark.master": "local[2]",
        "spark.app.name": "mine",
        "spark.ui.enabled": "true",
        "spark.mine": "1",
    }
    assert pythons == {sys.prefix}


@LONG
def test_a_submitted_program_runs_in_a_packed_environment_on_executors(tmp_path):
    packed = tmp_path / "packed"
    venv.create(packed, symlinks=True)
    site = next((packed / "lib").glob("python3*/site-packages"))
    # What a packed environment holds as files stands here as a path: that is no matter for how it gets there.
    (site / "all.pth").write_text("\n".join(path for path in sys.path if "site-packages" in path or "src" in path))
    with tarfile.open(tmp_path / "packed.tar.gz", "w:gz") as archive:
        archive.add(packed, ".")
    # The driver, which is no executor here, plans the batches of sources in the same Python.
    packed.rename(tmp_path / "unpacked")
    given = ["--master", "local-cluster[2,1,1024]", "--archives", f"{tmp_path / 'packed.tar.gz'}#unpacked"]
    given += ["--conf", "spark.pyspark.python=./unpacked/bin/python"]
    found, pythons = submit(tmp_path, *given, "--conf", f"spark.pyspark.driver.python={sys.executable}")
    assert found["spark.master"] == "local-cluster[2,1,1024]"
    assert all(python.endswith("/unpacked") for python in pythons), pythons
