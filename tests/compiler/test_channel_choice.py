"""`--channels auto`: as many channels as the model sees a gain in, and no more."""

from __future__ import annotations

from optimizer_settings import setting

from penstock.compiler.channel_choice import fewest_channels
from penstock.lang import compile_text
from penstock.model import equal_hosts

HEAVY = """
composite Main {
  graph
    stream<int32 a, float64 b> In = Beacon() { param iterations: 10; }
    stream<In> Work = Functor(In) { output Work: b = b + 1.0; }
    () as Out = FileSink(Work) { param file: "out"; }
}
"""


def channels(work_us: float, cores: int) -> int:
    costs = {"In": 0.01, "Work": work_us}
    made = setting(compile_text(HEAVY).application, costs, hosts=equal_hosts(1, cores=cores), batch_tuples=2_000.0)
    return fewest_channels(made, cores)


def test_heavy_work_gets_a_channel_for_every_core():
    assert channels(5000.0, 4) == 4


def test_light_work_stays_on_one_channel():
    assert channels(0.01, 4) == 1
