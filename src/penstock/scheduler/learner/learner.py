"""The resource function learner: from samples of a running PE to the function that macroQ composes.

Introduction. macroQ needs, for each stream, the rate at which it will flow when the PE that makes it gets so many
mips and its inputs so many tuples a second. Nobody writes such functions down: they are learned from what the PE did.
The measurements are noisy, some figures of a sample are missing, and only a part of the domain was ever visited, so
the learner also says how sure it is.

Formulation. Given points x (input rates and mips) and rates y = f(x) + noise with f monotone in each coordinate, find
f in the families of `families` by least weighted error. The noise may grow with the rate: its scale is s(x) =
u + v f(x), u, v >= 0 (`_noise`), and errors are counted in units of s.

Example: 200 samples of `min(0.5 * input, mips / 4)` with 10 % noise give back the family `flow`, both coefficients to
about 1 %, and a band of about that width (`tests/scheduler/learner/test_learner.py`).

When it does not apply. A PE whose rate falls when its input grows (thrashing) is not monotone; its band then stays
wide. Fewer than 12 complete samples are refused.

Algorithm. Each family is fitted K = 10 times, leaving out each tenth of the samples once (cost: 10 fits a family;
some 40 ms for 200 samples of two coordinates). The left-out errors choose the family: the simplest one, unless a
richer one is better by more than one standard error. The same ten fits give both kinds of confidence: the
delete-a-group jackknife gives the band of the function itself (`band`), and the ranked left-out errors give the band
of the next sample (`sample_band`, split conformal). Where no sample was near, and outside the box that was visited,
only monotonicity speaks (`support`): above the box there is no upper limit, below it no lower one but zero. A
PE that is never starved shows a line, mips in proportion to what comes in: what a tuple costs and how many leave for
it are then learned apart, each from all samples (`families.fit_line`). Partial samples are completed with the
value that the first fit finds most likely (`_completed`) and then take part in the last fits, never in the errors.

Preserves. Every learned function is monotone in every coordinate and not negative.

Reference: Wolf et al., JSSPP 2009, section 2 item 4, names the learner and leaves its inside to a paper of its own;
the inside is ours. Barlow et al. 1972 for isotonic regression, Shao and Wu 1989 for the jackknife, Vovk et al. 2005
for conformal bands.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.optimize import nnls
from scipy.stats import t as student_t
from scipy.stats.qmc import Halton

from penstock.base.diagnostics import UserError
from penstock.scheduler.learner.families import (
    FAMILIES,
    Fit,
    LimitedRate,
    MonotoneFunction,
    fit_line,
    is_on_a_line,
    limits_of,
)
from penstock.scheduler.learner.lattice import Lattice
from penstock.scheduler.learner.prior import Prior
from penstock.scheduler.learner.samples import Matrix, Sample, as_arrays, check_samples
from penstock.scheduler.learner.support import Support
from penstock.scheduler.problem.admission_problem import Flow, RateFunction, Surface

Groups = npt.NDArray[np.int64]

FOLDS = 10
FEWEST_SAMPLES = 12

# The jackknife does not see what the choice of the family and rates cut off at zero add: coverage was short by a few
# per cent without it.
_WIDENING = 1.2

_FAR_OFF = 10.0
"""An error this many times the usual one is as bad as any: a broken meter must not choose the family."""

_EXACT = 1e-9
"""Errors below this part of the largest rate are rounding."""

MOST_FITTED = 800
"""Samples that fits look at, spread over all there are."""

_DOUBT = 0.3
"""By how much of itself a function that only a profile speaks for may be off."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LearnedFunction:
    """A resource function with its confidence.

    Attributes:
        family: `flow`, `capacity`, `join` or `lattice`.
        function: The function itself.
        leave_outs: The same function fitted without each tenth of the samples.
        noise: (u, v): a measured rate is off by about u + v times the rate.
        misses: Left-out errors in units of the noise, ascending.
        left_out_errors: The same in tuples a second, in the samples' order.
        support: Where samples were taken.
        lowest: The smallest value seen of each coordinate.
        highest: The largest value seen of each coordinate.
        samples: How many complete samples it stands on.
        partial_samples: How many more had figures missing.
    """

    family: str
    function: MonotoneFunction
    leave_outs: tuple[MonotoneFunction, ...]
    noise: tuple[float, float]
    misses: Matrix
    left_out_errors: Matrix
    support: Support
    lowest: Matrix
    highest: Matrix
    samples: int
    partial_samples: int

    def rate_tps(self, input_tps: Sequence[float], mips: float) -> float:
        """The output rate at one point."""
        return float(self.rates_tps(np.array([[*input_tps, mips]]))[0])

    def rates_tps(self, points: Matrix) -> Matrix:
        """The output rate at many points, each a row of input rates and mips."""
        return np.maximum(self.function(points), 0.0)

    def band(self, points: Matrix, confidence: float = 0.9) -> tuple[Matrix, Matrix]:
        """Between what the true rate lies, at each point, with the confidence asked for.

        Where no sample is near, the fit has nothing to say, and the band is what monotonicity leaves.
        """
        low, high = self._fitted_band(points, confidence)
        far = ~self.support.is_near(np.clip(points, self.lowest, self.highest))
        if far.any():
            seen = self._fitted_band(self.support.points, confidence)
            least, most = self.support.bounds(points[far], *seen)
            low[far], high[far] = np.minimum(low[far], least), np.maximum(high[far], most)
        return low, high

    def _fitted_band(self, points: Matrix, confidence: float) -> tuple[Matrix, Matrix]:
        inside = np.clip(points, self.lowest, self.highest)
        if self.family == "lattice":
            # Its error is mostly the grid's, which leaving samples out does not show; the wider band is honest.
            return self.sample_band(points, confidence)
        fits = np.array([fit(inside) for fit in self.leave_outs])
        groups = len(fits)
        error = np.sqrt((groups - 1) / groups * np.sum((fits - self.function(inside)) ** 2, axis=0))
        reach = float(student_t.ppf((1 + confidence) / 2, groups - 1))
        return self._opened(points, inside, _WIDENING * reach * error)

    def sample_band(self, points: Matrix, confidence: float = 0.9) -> tuple[Matrix, Matrix]:
        """Between what the next sample will lie, at each point, with the confidence asked for."""
        inside = np.clip(points, self.lowest, self.highest)
        rank = int(np.ceil((len(self.misses) + 1) * confidence))
        reach = self.misses[rank - 1] if rank <= len(self.misses) else np.inf
        return self._opened(points, inside, reach * _spread(self.noise, self.function(inside)))

    def _opened(self, points: Matrix, inside: Matrix, width: Matrix) -> tuple[Matrix, Matrix]:
        """The band, opened on the sides where nothing was seen."""
        centre = self.rates_tps(inside)
        low = np.where((points < self.lowest).any(axis=1), 0.0, np.maximum(centre - width, 0.0))
        high = np.where((points > self.highest).any(axis=1), np.inf, centre + width)
        return low, high

    def uncertainty(self) -> float:
        """How unsure the function is: half the 90 % band over the rate, on average over the box of all that was seen.

        One figure to decide by whether to go on sampling: 0.05 says that rates are known to 5 %. A PE that was never
        starved has shown one line through the box and stays unsure, however often it was looked at.
        """
        points = self.lowest + Halton(len(self.lowest), seed=0).random(64) * (self.highest - self.lowest)
        low, high = self.band(points)
        rates = self.rates_tps(points)
        unsure = np.minimum((high - low) / 2, np.maximum(rates, float(np.mean(rates))))
        return float(np.mean(unsure) / max(float(np.mean(rates)), 1e-12))

    def rate_function(self, inputs: Sequence[str]) -> RateFunction:
        """The function as macroQ composes it: of all inputs, named by their streams, and the mips."""
        if isinstance(self.function, Lattice):
            heights = np.maximum(self.function.heights, 0.0).reshape([len(axis) for axis in self.function.axes])
            for axis in range(heights.ndim):
                heights = np.maximum.accumulate(heights, axis=axis)
            knots = tuple(tuple(map(float, axis)) for axis in self.function.axes)
            return Surface(inputs=tuple(inputs), knots=knots, rates=tuple(map(float, heights.ravel())))
        if (flow := self.flow()) is not None:
            return Flow(mips_per_tps=flow[0], selectivity=flow[1])
        limits = limits_of(self.function, inputs, most_mips=float(self.highest[-1]))
        return limits if inputs else limits.allowed

    def table_over_mips(self, input_tps: Sequence[float], points: int = 17) -> tuple[tuple[float, float], ...]:
        """The function as a `{"table": [[mips, rate], ...]}` of the admission format, at given input rates."""
        mips = np.linspace(0.0, self.highest[-1], points)
        rates = self.rates_tps(np.column_stack([np.tile(np.asarray(input_tps, dtype=float), (points, 1)), mips]))
        return tuple((float(m), float(r)) for m, r in zip(mips, rates, strict=True))

    def flow(self) -> tuple[float, float] | None:
        """(mips per tuple a second, selectivity) where the function is a flow with one selectivity, else None.

        Inputs whose selectivities differ by more than a tenth have no single one.
        """
        if self.family != "flow" or not isinstance(self.function, LimitedRate) or len(self.function.sides) != 2:
            return None
        capacity, offered = (side.coefficients for side in self.function.sides)
        selectivity = float(np.mean(offered))
        if capacity[0] <= 0 or selectivity <= 0 or np.ptp(offered) > 0.1 * selectivity:
            return None
        return selectivity / float(capacity[0]), selectivity


def learn(samples: Sequence[Sample], *, prior: Prior | None = None, seed: int = 0) -> LearnedFunction:
    """Fit a PE's resource function to samples of it.

    Args:
        samples: What was measured; partial samples are welcome, 12 must be complete, or else there must be a prior.
        prior: What a profile says; it speaks until there are 12 samples, and is forgotten then.
        seed: Of the split into tenths.

    Raises:
        UserError: If samples are impossible, or too few.

    Example:
        >>> seen = [Sample(input_tps=(r,), mips=m, output_tps=min(r / 2, m / 4))
        ...         for r in range(10, 100, 10) for m in range(20, 200, 40)]
        >>> learned = learn(seen)
        >>> learned.family, round(learned.rate_tps([70], 500), 3)
        ('flow', 35.0)
        >>> [round(figure, 3) for figure in learned.flow()]
        [2.0, 0.5]
    """
    check_samples(samples)
    complete = [sample for sample in samples if sample.is_complete]
    if len(complete) < FEWEST_SAMPLES and prior is not None:
        width = len(complete[0].input_tps) if complete else 1
        return replace(_of_prior(prior, complete, width, seed), samples=len(complete))
    if len(complete) < FEWEST_SAMPLES:
        raise UserError(
            f"{len(complete)} complete samples are too few to learn a resource function from",
            hint=f"take at least {FEWEST_SAMPLES}",
        )
    points, rates = as_arrays(complete[:: -(-len(complete) // MOST_FITTED)])
    partial = as_arrays([s for s in samples if s.output_tps is not None and not s.is_complete][:MOST_FITTED])
    # Everything is counted in parts of the most that was seen: what is learned must not depend on units.
    sizes, size = points.max(axis=0), float(rates.max()) or 1.0
    sizes[sizes == 0] = 1.0
    families = (fit_line,) if is_on_a_line(points / sizes) else FAMILIES
    known = (partial[0] / sizes if len(partial[0]) else partial[0], partial[1] / size)
    fits = [_fitted(fit, points / sizes, rates / size, _tenths(points, seed), known) for fit in families]
    learned = replace(_chosen(fits), samples=len(complete))
    return _in_units(learned, sizes, size, points)


def _tenths(points: Matrix, seed: int) -> Groups:
    """Which tenth each sample belongs to; samples of one point are left out together, or they vouch for each other."""
    distinct, same = np.unique(points, axis=0, return_inverse=True)
    rng = np.random.default_rng(seed)
    if len(distinct) < FEWEST_SAMPLES:
        return rng.permutation(len(points)) % FOLDS
    return np.asarray((rng.permutation(len(distinct)) % FOLDS)[same.ravel()])


def _in_units(learned: LearnedFunction, sizes: Matrix, size: float, points: Matrix) -> LearnedFunction:
    """A function that was learned in parts of these sizes, in the units of the samples."""
    u, v = learned.noise
    return replace(
        learned,
        function=learned.function.in_units(sizes, size),
        leave_outs=tuple(function.in_units(sizes, size) for function in learned.leave_outs),
        noise=(u * size, v),
        left_out_errors=learned.left_out_errors * size,
        support=Support.of(points, is_on_a_line=is_on_a_line(points / sizes)),
        lowest=points.min(axis=0),
        highest=points.max(axis=0),
    )


def _of_prior(prior: Prior, samples: Sequence[Sample], inputs: int, seed: int) -> LearnedFunction:
    """The profile's function, bent towards the few samples there are, and unsure as a profile is."""
    points, rates = as_arrays([*prior.samples(inputs), *samples])
    tenth = np.random.default_rng(seed).permutation(len(rates)) % FOLDS
    fitted = _fitted(FAMILIES[0], points, rates, tenth, (np.empty((0, inputs + 1)), np.empty(0)))
    doubts = tuple(_scaled(fitted.function, factor) for factor in np.linspace(1 - _DOUBT, 1 + _DOUBT, FOLDS))
    return replace(fitted, leave_outs=doubts)


def _scaled(function: MonotoneFunction, factor: float) -> MonotoneFunction:
    assert isinstance(function, LimitedRate)
    sides = tuple(replace(side, coefficients=factor * side.coefficients) for side in function.sides)
    return replace(function, sides=sides)


def _fitted(fit: Fit, points: Matrix, rates: Matrix, tenth: Groups, partial: tuple[Matrix, Matrix]) -> LearnedFunction:
    """One family, fitted to everything and without each tenth."""
    first = fit(points, rates, np.ones(len(rates)), None)
    more, more_rates = _completed(first, points, *partial)
    noise = _noise(first(points), rates)
    all_points, all_rates = np.vstack([points, more]), np.concatenate([rates, more_rates])
    weights = 1.0 / _spread(noise, first(all_points)) ** 2
    left_in = [np.concatenate([tenth != k, np.ones(len(more), dtype=bool)]) for k in range(FOLDS)]
    leave_outs = tuple(fit(all_points[keep], all_rates[keep], weights[keep], first) for keep in left_in)
    left_out = np.empty(len(rates))
    for k, function in enumerate(leave_outs):
        left_out[tenth == k] = function(points[tenth == k])
    noise = _noise(left_out, rates)
    function = fit(all_points, all_rates, weights, first)
    return LearnedFunction(
        family=function.family,
        function=function,
        leave_outs=leave_outs,
        noise=noise,
        misses=np.sort(np.abs(left_out - rates) / _spread(noise, left_out)),
        left_out_errors=np.abs(left_out - rates),
        support=Support.of(points),
        lowest=points.min(axis=0),
        highest=points.max(axis=0),
        samples=len(rates),
        partial_samples=len(more),
    )


def _noise(fitted: Matrix, rates: Matrix) -> tuple[float, float]:
    """(u, v) of the noise scale u + v * rate, by non-negative regression of the absolute errors."""
    top = max(float(fitted.max()), 1e-12)
    design = np.column_stack([np.ones(len(rates)), fitted / top])
    (u, v), _ = nnls(design, np.abs(fitted - rates))
    return max(float(u), 1e-6 * top), float(v) / top


def _spread(noise: tuple[float, float], rates: Matrix) -> Matrix:
    return noise[0] + noise[1] * np.maximum(rates, 0.0)


def _completed(function: MonotoneFunction, seen: Matrix, points: Matrix, rates: Matrix) -> tuple[Matrix, Matrix]:
    """Partial samples with each missing figure set to the seen value at which the function comes nearest.

    Of equally near values the middle one is taken: where the figure does not limit the rate it must not be pushed
    to where it would. Samples that miss more than one figure say too little and are left out.
    """
    if len(points) == 0:
        return np.empty((0, seen.shape[1])), np.empty(0)
    once = np.isnan(points).sum(axis=1) == 1
    done = points[once].copy()
    choices = np.quantile(seen, np.linspace(0, 1, 21), axis=0)
    for row, rate in zip(done, rates[once], strict=True):
        missing = int(np.flatnonzero(np.isnan(row))[0])
        tried = np.tile(row, (len(choices), 1))
        tried[:, missing] = choices[:, missing]
        off = np.abs(function(tried) - rate)
        near = np.flatnonzero(off <= off.min() + 0.02 * max(rate, 1e-12))
        row[missing] = choices[near[len(near) // 2], missing]
    return done, rates[once]


def _chosen(fits: list[LearnedFunction]) -> LearnedFunction:
    """The simplest family that no richer one beats by more than a standard error; samples far off count little."""
    best = fits[0]
    for richer in fits[1:]:
        most = _FAR_OFF * float(np.median(best.left_out_errors))
        gain = np.minimum(best.left_out_errors, most) - np.minimum(richer.left_out_errors, most)
        if gain.mean() > gain.std() / np.sqrt(len(gain)) + _EXACT:
            best = richer
    return best


class ResourceFunctionLearner:
    """Keeps the latest samples of one stream and learns from them when asked.

    Attributes:
        window: How many samples are kept; older ones speak of a program that has changed since.
        prior: What a profile says of the PE, if there is one.

    Example:
        >>> learner = ResourceFunctionLearner(window=100)
        >>> for mips in range(1, 21):
        ...     learner.observe(Sample(input_tps=(), mips=float(mips), output_tps=3.0 * mips))
        >>> round(learner.learned().rate_tps([], 10.0), 6)
        30.0
    """

    def __init__(self, window: int = 1000, prior: Prior | None = None) -> None:
        self.window = window
        self.prior = prior
        self._samples: deque[Sample] = deque(maxlen=window)

    def observe(self, sample: Sample) -> None:
        """Take one sample in."""
        check_samples([sample])
        self._samples.append(sample)

    def learned(self, *, seed: int = 0) -> LearnedFunction:
        """The function that the kept samples speak for, or the prior while they are few."""
        return learn(tuple(self._samples), prior=self.prior, seed=seed)
