"""Application configurations: properties that a program asks for by name, and that are no part of it.

The environment variable `PENSTOCK_APP_CONFIG` names a JSON file with an object for each of them:

    {"market": {"server": "db:5432", "password": "env:MARKET_PASSWORD"}}
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from penstock.base.diagnostics import UserError
from penstock.base.json_reader import JsonReader
from penstock.base.json_source import kind_of, read_json
from penstock.base.secret_references import protect_value

VARIABLE = "PENSTOCK_APP_CONFIG"

Configurations = Mapping[str, Mapping[str, str]]
"""The properties of each application configuration."""


def read_configurations() -> Configurations:
    """Read the application configurations of this process; none if no file is named.

    What is a secret by its name is left out of whatever is shown from now on.

    Raises:
        UserError: The file cannot be read, or something in it is no configuration.
    """
    file = os.environ.get(VARIABLE)
    if not file:
        return {}
    found = read_json(Path(file))
    if not isinstance(found, dict):
        hint = 'write an object: {"market": {"server": "db:5432"}}'
        raise UserError(f"{file}: the application configurations are {kind_of(found)}", hint=hint)
    reader = JsonReader(file)
    for name, properties in found.items():
        if not isinstance(properties, dict):
            reader.complain(f"the application configuration `{name}` is {kind_of(properties)}", "write an object")
            continue
        for key, value in properties.items():
            if not isinstance(value, str):
                reader.complain(
                    f"`{key}` of the application configuration `{name}` is {kind_of(value)}", "write a string"
                )
            else:
                protect_value(key, value)
    reader.raise_if_any()
    return found
