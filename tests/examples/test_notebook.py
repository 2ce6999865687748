"""The notebook runs from its first cell to its last, and shows what it says."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from nbmake.nb_run import NotebookRun

NOTEBOOK = Path(__file__).parents[2] / "examples" / "notebook" / "prices.ipynb"


def outputs(cell: dict[str, object]) -> str:
    """All that a cell shows: text, pages, errors."""
    return json.dumps(cell["outputs"], ensure_ascii=False)


def test_the_notebook_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(NOTEBOOK, tmp_path)
    result = NotebookRun(tmp_path / NOTEBOOK.name, default_timeout=300).execute()
    assert result.error is None
    shown = {cell["id"]: outputs(cell) for cell in result.nb.cells if cell.cell_type == "code"}
    cells = list(shown.values())
    assert "<Stream Ticks: rstring sym, float64 price, int64 volume>" in cells[1]
    assert "the first 3; there are more" in cells[2]
    assert "Row(name='IBM', vwap=" in cells[3]
    assert "<svg " in cells[4]
    assert "key {name}" in cells[5]
    assert "did you mean `price`?" in cells[6]
    assert "Cell In[7]:1:1: error" in cells[6]
    assert "Counts(received=8, submitted=0, rejected=0, late=0, expired=0)" in cells[7]
    assert (tmp_path / "vwap.json").read_text().count("\n") == 8


def test_the_notebook_is_stored_without_what_it_shows():
    stored = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    assert [cell["outputs"] for cell in stored["cells"] if cell["cell_type"] == "code"] == [[]] * 8
