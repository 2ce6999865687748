"""When an application gives its cluster up."""

from __future__ import annotations

import pytest

from penstock.base.diagnostics import UserError
from penstock.spark.job.lost_cluster import PATIENCE_SECONDS, LostCluster


class World:
    def __init__(self, master: str = "spark://host:7077", *, is_dynamic: bool = False) -> None:
        self.now, self.executors = 0.0, 0
        self.watch = LostCluster(lambda: self.executors, master, is_dynamic=is_dynamic, now=lambda: self.now)

    def live(self, seconds: float, executors: int) -> None:
        self.executors, until = executors, self.now + seconds
        while self.now < until:
            self.now += 0.2
            self.watch.check()


def test_an_application_that_has_lost_all_executors_gives_up_after_a_while() -> None:
    world = World()
    world.live(10, 2)
    world.live(PATIENCE_SECONDS - 5, 0)
    with pytest.raises(UserError, match="spark://host:7077 has taken all executors away"):
        world.live(15, 0)


def test_executors_that_come_back_in_time_are_enough() -> None:
    world = World()
    for _ in range(5):
        world.live(10, 1)
        world.live(PATIENCE_SECONDS - 5, 0)


def test_one_that_waits_for_its_first_executor_waits() -> None:
    World().live(20 * PATIENCE_SECONDS, 0)


@pytest.mark.parametrize("world", [World("local[2]"), World("yarn"), World(is_dynamic=True)])
def test_where_executors_come_and_go_nobody_gives_up(world: World) -> None:
    world.live(10, 2)
    world.live(5 * PATIENCE_SECONDS, 0)
