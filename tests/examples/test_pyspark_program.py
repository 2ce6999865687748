"""A PySpark program gives through Penstock, unchanged, what it gives alone."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

from spark_session import session

pytestmark = pytest.mark.xdist_group("spark")


@pytest.fixture
def compared(examples: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(examples / "pyspark_program"))
    for name in ("program", "transformed", "compare"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return importlib.import_module("compare")


def test_the_program_writes_the_same_through_penstock(compared: ModuleType, tmp_path: Path) -> None:
    alone, through, written = compared.compare(session(), tmp_path, 4000, 60, 3)
    assert written > 500
    assert min(alone, through) > 0
