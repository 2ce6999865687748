"""Finds the examples and runs their scripts."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="session")
def example():
    """Loads a Python file of an example folder under a name of its own."""

    def load(path: str) -> ModuleType:
        name = "example_" + path.replace("/", "_").removesuffix(".py")
        spec = importlib.util.spec_from_file_location(name, EXAMPLES / path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
        return module

    return load


@pytest.fixture
def examples() -> Path:
    return EXAMPLES
