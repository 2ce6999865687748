"""The stages of an application, as text and as a picture."""

from __future__ import annotations

import subprocess
import sys

import pytest

from penstock import App, UserError
from penstock.running import STAGES

PROGRAM = """
from penstock import App, agg, col
from penstock import windows as w

app = App("Shop")
sales = app.read_csv("sales.csv", "rstring shop, float64 total", name="Sales")
sums = sales.aggregate(w.tumbling(w.count(2)), by="shop", total=agg.sum(col.total)).named("Sums")
sums.write_csv("sums.csv", name="Sink")
"""


def shop() -> App:
    names: dict[str, object] = {}
    exec(PROGRAM, names)
    app = names["app"]
    assert isinstance(app, App)
    return app


@pytest.mark.parametrize("stage", ["logical", "parallel", "fused", "generated"])
def test_a_stage_is_what_the_command_line_prints(stage, tmp_path):
    (tmp_path / "shop.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "penstock.cli", "explain", "shop.py:app", "--stage", stage]
    printed = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert f"{shop().explain(stage)}\n" == printed


def test_a_stage_is_a_picture_in_a_notebook():
    explained = shop().explain("fused", channels=2)
    page = explained._repr_html_()
    assert page.startswith("<svg ")
    assert all(text in page for text in ("Sums", "PE 1, stateful on 2 channels", "<style>"))
    assert shop()._repr_html_().startswith("<svg ")


def test_what_cannot_be_explained_says_why():
    with pytest.raises(UserError, match="there is no stage `fuse`; did you mean `fused`"):
        shop().explain("fuse")
    with pytest.raises(UserError, match="there is no profile of this application"):
        shop().explain("placed")
    assert tuple(STAGES) == ("logical", "parallel", "fused", "placed", "generated")


def test_a_check_says_how_large_the_application_is():
    assert shop().check() == "Shop: 3 operators, 2 streams, 2 subscriptions, no errors"


CELL = """
from penstock import App, col
app = App()
print(app.directory)
app.beacon("int32 x", iterations=1).select(y=col.z)
"""


def test_a_mistake_is_shown_in_its_cell_and_not_in_our_code(tmp_path):
    command = [sys.executable, "-m", "IPython", "--colors=NoColor", "--quick", "-c", CELL]
    shown = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False).stdout
    assert shown.startswith(".\nCell In[1]:4:1: error: there is no attribute `z`; the input has {x}\n")
    assert shown.rstrip().endswith("^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~")
    assert "Traceback" not in shown
