"""Where Spark finds connectors that do not come with it, such as the one for Kafka.

`PENSTOCK_PACKAGES` names Maven packages, with commas between them, that Spark downloads; `PENSTOCK_JARS` names folders
of jars, or jars, with colons between them, that are on the machine. What lies in Spark's own `jars` folder needs
neither. Delta wants settings of the session beside its jar; where that is named, it has them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from penstock.base.diagnostics import UserError

PACKAGES, JARS = "PENSTOCK_PACKAGES", "PENSTOCK_JARS"

_DELTA = "delta-spark_"
_OF_DELTA = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}


def connector_settings(variables: Mapping[str, str] | None = None) -> dict[str, str]:
    """The settings of a session that give it the connectors that the environment names.

    Raises:
        UserError: A folder of jars is not there, or holds none.

    Example:
        >>> connector_settings({"PENSTOCK_PACKAGES": "org.example:connector:1.0"})
        {'spark.jars.packages': 'org.example:connector:1.0'}
    """
    given = os.environ if variables is None else variables
    found: dict[str, str] = {}
    if given.get(PACKAGES):
        found["spark.jars.packages"] = given[PACKAGES]
    if given.get(JARS):
        found["spark.jars"] = ",".join(str(jar) for name in given[JARS].split(os.pathsep) for jar in _jars(Path(name)))
    return found | (_OF_DELTA if any(_DELTA in jars for jars in found.values()) else {})


def _jars(path: Path) -> list[Path]:
    found = sorted(path.glob("*.jar")) if path.is_dir() else [path] if path.exists() else []
    if not found:
        raise UserError(f"{JARS} names `{path}`, where there is no jar", hint="name a folder that holds jars")
    return [jar.absolute() for jar in found]
