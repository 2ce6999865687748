"""What the user has set for Spark, wherever he has: `--conf`, `spark-submit`, `spark-defaults.conf`.

What he asks for with `--conf` holds. What he has set elsewhere is left alone but for what our plans rely on: his user
interface, his logging, his options of Java. A program that `spark-submit` has started finds Java running, with the
master, the name and all else that was submitted.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.base.diagnostics import UserError

if TYPE_CHECKING:
    from py4j.java_gateway import JavaGateway  # type: ignore[import-untyped]

CONF = "PENSTOCK_CONF"
SUBMITTED = "PYSPARK_GATEWAY_PORT"
"""`spark-submit` sets it for the Python that it starts."""

_JAVA_OPTIONS = "spark.driver.extraJavaOptions"
_LINE = re.compile(r"\s*([^\s=:#!][^\s=:]*)\s*[=:\s]\s*(.*?)\s*")
_OURS = {"spark.master": "--master", "spark.submit.deployMode": "spark-submit"}


def asked_settings(variables: Mapping[str, str] | None = None) -> dict[str, str]:
    """What `--conf` asks for, or the environment in its place: NAME=VALUE, a line each.

    Raises:
        UserError: It is something else, or belongs to another option.

    Example:
        >>> asked_settings({"PENSTOCK_CONF": "spark.ui.enabled=true"})
        {'spark.ui.enabled': 'true'}
    """
    given = (os.environ if variables is None else variables).get(CONF, "")
    found = {}
    for line in filter(str.strip, given.splitlines()):
        name, is_there, value = line.strip().partition("=")
        if not is_there or not re.fullmatch(r"spark(\.[\w\-]+)+", name):
            hint = "write it as NAME=VALUE, for example --conf spark.executor.memory=4g"
            raise UserError(f"`{line.strip()}` is no setting of Spark", hint=hint)
        if name in _OURS:
            raise UserError(f"`{name}` is not for --conf", hint=f"give it with {_OURS[name]}")
        found[name] = value
    return found


def default_settings(variables: Mapping[str, str], installed: Path) -> dict[str, str]:
    """What `spark-defaults.conf` has set, if there is one.

    Args:
        variables: Of the environment.
        installed: Spark's home, where no other is named.
    """
    home = Path(variables.get("SPARK_HOME") or installed)
    try:
        lines = (
            (Path(variables.get("SPARK_CONF_DIR") or home / "conf") / "spark-defaults.conf").read_text().splitlines()
        )
    except OSError:
        return {}
    return {found[1]: found[2] for found in map(_LINE.fullmatch, lines) if found and found[1].startswith("spark.")}


def submitted_settings(gateway: JavaGateway) -> dict[str, str]:
    """What was given to `spark-submit`, which has started Java and this program."""
    from pyspark import SparkConf

    jvm: Any = gateway.jvm
    return dict(SparkConf(loadDefaults=True, _jvm=jvm).getAll())


def with_theirs(ours: Mapping[str, str], theirs: Mapping[str, str], *, has_logging: bool) -> dict[str, str]:
    """Settings that are ours only as long as the user has none of them.

    Options of Java are a text: his stand behind ours, and ours, which are about the log, go where he has a log.

    Example:
        >>> with_theirs({"spark.ui.enabled": "false"}, {"spark.ui.enabled": "true"}, has_logging=False)
        {}
    """
    kept = {name: value for name, value in ours.items() if name not in theirs}
    options = theirs.get(_JAVA_OPTIONS, "")
    if has_logging or "log4j" in options:
        kept.pop(_JAVA_OPTIONS, None)
    elif options and _JAVA_OPTIONS in ours:
        kept[_JAVA_OPTIONS] = f"{ours[_JAVA_OPTIONS]} {options}"
    return kept


def has_own_logging(variables: Mapping[str, str], installed: Path) -> bool:
    """Whether Spark's folder of settings has a log4j2 file."""
    home = Path(variables.get("SPARK_HOME") or installed)
    folder = Path(variables.get("SPARK_CONF_DIR") or home / "conf")
    # Spark comes with templates.
    return any(path.suffix != ".template" for path in folder.glob("log4j2.*"))
