"""Outlier detection in radio astronomy in Python: samples of antennas that stand out from the noise of their antenna.

The graph has eight operators for each station and eight for all of them. `radio_astronomy.spl` is the same application
in SPL, for six stations. With `bins` each station has one operator more, written in Python (`Spectrum`): a running
spectrum of so many lines for each antenna.
"""

from __future__ import annotations

import numpy as np

from penstock import (
    App,
    Operator,
    OperatorModel,
    Output,
    Selectivity,
    State,
    Stream,
    agg,
    col,
    count,
    fn,
    lhs,
    rhs,
    sliding,
    tumbling,
)

PLACE = "float64 time, int32 station, int32 antenna"
SAMPLE = f"{PLACE}, float64 xr, float64 xi, float64 yr, float64 yi"
WAVE = f"{PLACE}, float64 i, float64 q, float64 u, float64 v"
SEEN = f"{PLACE}, float64 i, float64 linear, float64 circular, float64 angle, float64 decibel"
PEAK = f"{SEEN}, float64 mean, float64 sigma"
OUTLIER = f"{PEAK}, float64 score, float64 above"

POWER = col.xr * col.xr + col.xi * col.xi + col.yr * col.yr + col.yi * col.yi
BY_ANTENNA = {"by": ("antenna", "antenna"), "on": (lhs.antenna, rhs.antenna), "antenna": lhs.antenna}

MEMORY = 0.98
"""What is left of a sample's weight when the next one comes."""

FAINTEST = 1e-12


def app(stations: int = 6, bins: int = 0) -> App:
    if bins == 1:
        raise ValueError("a spectrum has at least two lines")
    application = App("RadioAstronomy")
    samples = application.read_file("samples.csv", SAMPLE, name="Samples")
    waves = calibrated(samples)
    sky = waves.aggregate(sliding(count(200)), schema="float64 sky", sky=agg.avg(POWER), name="Sky")
    rated = [station(waves, number, bins) for number in range(stations)]
    found = outliers(application, rated, sky, with_lines(OUTLIER, bins))
    # A burst of a planet is polarized in a circle, what a transmitter sends in a line.
    bursts = found.filter(col.linear < 0.8, name="Bursts")
    interference = found.filter(col.linear >= 0.8, name="Interference")
    bursts.write_file("bursts.csv", name="BurstSink")
    interference.write_file("interference.csv", name="InterferenceSink")
    return application


def calibrated(samples: Stream) -> Stream:
    """The receivers' oscillators drift; their phase is taken out of both dipoles alike."""
    drift = 0.7 * col.time
    return samples.to(
        SAMPLE,
        xr=col.xr * fn.cos(drift) - col.xi * fn.sin(drift),
        xi=col.xr * fn.sin(drift) + col.xi * fn.cos(drift),
        yr=col.yr * fn.cos(drift) - col.yi * fn.sin(drift),
        yi=col.yr * fn.sin(drift) + col.yi * fn.cos(drift),
        name="Calibrated",
    )


def station(samples: Stream, number: int, bins: int) -> Stream:
    """Finds what stands out among the samples of one station."""
    prefix = f"Station{number}"
    is_sound = (
        (col.station == number)
        & (fn.abs(col.xr) < 1000.0)
        & (fn.abs(col.xi) < 1000.0)
        & (fn.abs(col.yr) < 1000.0)
        & (fn.abs(col.yi) < 1000.0)
    )
    mine = samples.filter(is_sound, name=f"{prefix}.Mine")
    waves = stokes(mine, prefix)
    angles = waves.to(
        SEEN,
        filter=col.i > 0.0,
        linear=fn.sqrt(col.q * col.q + col.u * col.u) / col.i,
        circular=col.v / col.i,
        angle=fn.atan2(col.u, col.q) / 2.0,
        decibel=10.0 * fn.log10(col.i),
        name=f"{prefix}.Angles",
    )
    if bins:
        angles = angles.apply(Spectrum, with_lines(SEEN, bins), bins=bins, name=f"{prefix}.Spectrum")
    peaks = angles.join(
        noise(waves, prefix),
        lhs.i > rhs.mean + 8.0 * rhs.sigma,
        windows=(sliding(count(0)), sliding(count(1))),
        schema=with_lines(PEAK, bins),
        name=f"{prefix}.Peaks",
        **BY_ANTENNA,
    )
    highest = waves.aggregate(
        tumbling(count(64)),
        by="antenna",
        schema="int32 antenna, float64 highest",
        antenna=agg.any(col.antenna),
        highest=agg.max(col.i),
        name=f"{prefix}.Highest",
    )
    return peaks.join(
        highest,
        windows=(sliding(count(0)), sliding(count(1))),
        schema=with_lines(OUTLIER, bins),
        score=(lhs.i - lhs.mean) / lhs.sigma,
        above=lhs.i / rhs.highest,
        name=f"{prefix}.Rated",
        **BY_ANTENNA,
    )


class Spectrum(Operator):
    """Adds `line`: how far the strongest line in the antenna's circular polarization stands out from the others.

    A Fourier transform over samples whose weight fades: each sample turns every line by its frequency. What a sample
    gives depends on those before, so nothing here can be computed for many of them at once.
    """

    # The compiler cannot see into numpy, so it is told.
    model = OperatorModel(
        state=State.PARTITIONED,
        partition_by=(frozenset({"antenna"}),),
        selectivity=Selectivity.EXACTLY_ONE,
        forwards=frozenset({"time", "station", "antenna", "i", "linear", "circular", "angle", "decibel"}),
    )

    def __init__(self, bins: int):
        self.turns = MEMORY * np.exp(2j * np.pi * np.arange(bins) / bins)
        self.spectra = {}

    def process(self, t):
        spectrum = self.spectra.get(t.antenna, 0.0) * self.turns + t.circular
        self.spectra[t.antenna] = spectrum
        power = spectrum.real[1:] ** 2 + spectrum.imag[1:] ** 2
        yield {
            "time": t.time,
            "station": t.station,
            "antenna": t.antenna,
            "i": t.i,
            "linear": t.linear,
            "circular": t.circular,
            "angle": t.angle,
            "decibel": t.decibel,
            "line": float(power.max() / (power.mean() + FAINTEST)),
        }


def with_lines(schema: str, bins: int) -> str:
    """A schema, with what a spectrum adds if there is one."""
    return f"{schema}, float64 line" if bins else schema


def stokes(mine: Stream, prefix: str) -> Stream:
    """The Stokes parameters: intensity, and how the wave is polarized."""
    return mine.to(
        WAVE,
        i=POWER,
        q=col.xr * col.xr + col.xi * col.xi - col.yr * col.yr - col.yi * col.yi,
        u=2.0 * (col.xr * col.yr + col.xi * col.yi),
        v=2.0 * (col.xi * col.yr - col.xr * col.yi),
        name=f"{prefix}.Stokes",
    )


def noise(waves: Stream, prefix: str) -> Stream:
    """The noise of each antenna: what its last 32 samples were like. A sample is held against those before it."""
    level = waves.aggregate(
        sliding(count(32)),
        by="antenna",
        schema="int32 antenna, float64 mean, float64 square",
        antenna=agg.any(col.antenna),
        mean=agg.avg(col.i),
        square=agg.avg(col.i * col.i),
        name=f"{prefix}.Level",
    )
    return level.to(
        "int32 antenna, float64 mean, float64 sigma",
        sigma=fn.sqrt(fn.max(col.square - col.mean * col.mean, 0.000001)),
        name=f"{prefix}.Noise",
    )


def outliers(application: App, rated: list[Stream], sky: Stream, schema: str) -> Stream:
    """Each outlier with the brightness of the whole sky when it was found."""
    output = Output(schema=f"{schema}, float64 sky", name="Outliers")
    windows = [sliding(count(0)), sliding(count(1))]
    return application.invoke("Join", rated, sky, outputs=[output], windows=windows)[0]
