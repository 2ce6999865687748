"""Results that are kept for each object: not longer than it lives, and not for another one that is equal."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.base.memo import keep_for_each


@dataclass
class Box:
    size: int = 1


def test_equal_objects_have_results_of_their_own_and_dead_ones_none():
    asked = []
    measure = keep_for_each(lambda box, unit="m": asked.append((box.size, unit)) or box.size)
    for size in (1, 1, 2):
        # Each dies before the next is made, and may leave its address to it.
        box = Box(size)
        assert [measure(box), measure(box), measure(box, unit="cm")] == [size] * 3
        del box
    assert asked == [(1, "m"), (1, "cm")] * 2 + [(2, "m"), (2, "cm")]
