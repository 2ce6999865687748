"""What `penstock optimize` says of its runs: channels, where there is more than one number of them to try."""

from __future__ import annotations

from dataclasses import replace

from optimizer_settings import branches, setting

from penstock.cli.optimize import _channel_names, _line
from penstock.expr.typing import literal
from penstock.ir.graph import Annotation, Param
from penstock.model import Profile
from penstock.optimizer import Candidate, Iteration


def run(number: int, channels: int | None, predicted: float | None = None) -> Iteration:
    return Iteration(
        number=number,
        gamma=0.5 * number,
        candidate=Candidate(groups=(("a",), ("b",)), channels=channels),
        predicted_tps=predicted,
        throughput_tps=1000.0 * (number + 1),
        profile=Profile(mips=1.0),
    )


UNFUSED, WIDE = run(0, None), run(1, 2, 2500.0)


def test_where_one_number_is_tried_nothing_is_said_of_channels():
    assert _channel_names(setting(branches()), (2,)) == {}
    assert _line([UNFUSED], UNFUSED, {}) == "unfused: 2 PEs, 1,000 tuples a second"


def test_where_several_are_tried_every_run_says_its_channels():
    names = _channel_names(setting(branches()), (None, 2))
    assert _line([UNFUSED], UNFUSED, names) == "unfused: 2 PEs on 1 channel, 1,000 tuples a second"
    wanted = "2 PEs on 2 channels, 2,000 tuples a second (predicted 2,500), 2.00 times unfused"
    assert _line([UNFUSED, WIDE], WIDE, names) == f"iteration 1, gamma 0.5: {wanted}"
    again = replace(WIDE, confirmed_tps=(1900.0,))
    assert _line([UNFUSED, again], again, names) == "iteration 1 again: 1,900 tuples a second"


def test_where_annotations_say_some_widths_the_least_is_named_after_them():
    application = branches()
    wide = Annotation(name="parallel", arguments=(Param(name="width", values=(literal(3),)),))
    operators = tuple(replace(o, annotations=(wide,)) if o.id == "Left" else o for o in application.operators)
    given = setting(replace(application, operators=operators))
    assert _channel_names(given, (None, 2)) == {None: "annotated", 2: "2"}
