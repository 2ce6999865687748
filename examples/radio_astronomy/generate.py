"""Writes seeded samples of the antennas of some stations.

    python examples/radio_astronomy/generate.py [--samples 20000] [--stations 6] [--antennas 8] [--seed 1] [--out DIR]

Each line is `time,station,antenna,xr,xi,yr,yi`: the complex amplitudes of two dipoles. Antennas have noise of their own
level. A burst of a planet raises all antennas for a moment, the dipoles a quarter of a turn apart; a transmitter nearby
raises one antenna, its dipoles in step. Now and then an antenna is broken and reports nonsense.
"""

from __future__ import annotations

import argparse
import math
import random
from pathlib import Path

HERE = Path(__file__).parent


def generate(
    path: Path, *, samples: int = 20_000, stations: int = 6, antennas: int = 8, seed: int = 1, rare: int = 4_000
) -> None:
    """Write so many samples, the antennas in turn; a burst and an interference for each `rare` of them."""
    rng = random.Random(seed)
    places = [(station, antenna) for station in range(stations) for antenna in range(antennas)]
    levels = {place: rng.uniform(0.5, 2.0) for place in places}
    burst = 0
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        for number in range(samples):
            place = places[number % len(places)]
            burst = len(places) if rng.random() < 1 / rare else max(0, burst - 1)
            values = _sample(rng, levels[place], burst > 0, rng.random() < 1 / rare)
            file.write(f"{number / 1000:.3f},{place[0]},{place[1]}," + ",".join(f"{v:.4f}" for v in values) + "\n")


def _sample(rng: random.Random, level: float, in_burst: bool, is_interference: bool) -> tuple[float, ...]:
    if rng.random() < 0.001:
        return (9999.0,) * 4
    noise = [rng.gauss(0, level) for _ in range(4)]
    phase = rng.uniform(0, 2 * math.pi)
    real, imaginary = 14 * level * math.cos(phase), 14 * level * math.sin(phase)
    if is_interference:
        return _sum(noise, (real, imaginary, real, imaginary))
    return _sum(noise, (real, imaginary, -imaginary, real)) if in_burst else tuple(noise)


def _sum(noise: list[float], wave: tuple[float, ...]) -> tuple[float, ...]:
    return tuple(n + w for n, w in zip(noise, wave, strict=True))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Write seeded samples of antennas.")
    parser.add_argument("--samples", type=int, default=20_000)
    parser.add_argument("--stations", type=int, default=6)
    parser.add_argument("--antennas", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=HERE / "data")
    given = parser.parse_args()
    generate(
        given.out / "samples.csv",
        samples=given.samples,
        stations=given.stations,
        antennas=given.antennas,
        seed=given.seed,
    )
