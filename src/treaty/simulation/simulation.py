"""Many runs of one learner at once, with simulated noise."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from treaty.arrays import FloatArray, IntArray
from treaty.errors import TreatyError
from treaty.fitness import Risk, Yardstick, yardstick
from treaty.learners import Learner
from treaty.plans import NOBODY, Driver, Plan, PoissonClocks
from treaty.simulation.answers import SimulatedNoise, SimulatedRecords

Record = Literal["final", "every"] | Sequence[int]


@dataclass(frozen=True, eq=False, repr=False)
class Simulation:
    """What many runs came to.

    Args:
        rounds: the rounds that were recorded, shape (K,).
        psi: ψ of the model after each of them, shape (K, runs).
        models: the final model of every run, shape (runs, p).
        yardstick: what ψ was measured with.
        learner: the learner in its final state, for its derived parameters.
    """

    rounds: IntArray
    psi: FloatArray
    models: FloatArray
    yardstick: Yardstick
    learner: Learner

    def __repr__(self) -> str:
        error = f" ± {self.standard_error:.2g}" if len(self.final) > 1 else ""
        return f"Simulation({len(self.final):,} runs, mean ψ {self.mean:.4g}{error})"

    @property
    def final(self) -> FloatArray:
        """ψ of every run's final model."""
        return self.psi[-1]

    @property
    def mean(self) -> float:
        """The mean of ψ over the runs, at the end."""
        return float(self.final.mean())

    @property
    def standard_error(self) -> float:
        """The Monte-Carlo standard error of that mean."""
        return float(self.final.std(ddof=1) / np.sqrt(len(self.final)))

    @property
    def middle(self) -> FloatArray:
        """The final model of the run in the middle: about half of the runs have a lower ψ."""
        return self.models[np.argsort(self.final)[len(self.final) // 2]]

    def percentiles(self, *percents: float) -> FloatArray:
        """Return percentiles of ψ per recorded round, shape (len(percents), K)."""
        return np.percentile(self.psi, percents, axis=1)


def simulate(
    plan: Plan,
    risks: Mapping[str, Risk],
    *,
    runs: int = 100,
    seed: int = 0,
    record: Record = "final",
    measured_with: Yardstick | None = None,
    progress: Callable[[int, int], None] | None = None,
    offsets: FloatArray | None = None,
) -> Simulation:
    """Train many times at once and say how good the models are.

    Nothing here is a release: the noise comes from a seeded generator, and ψ is computed from the
    records themselves.

    Args:
        plan: who is asked what, with how much noise.
        risks: the records of every party, by name. Their numbers need not be the plan's n_i: a
            rehearsal runs the noise of the real plan on stand-in records.
        runs: how many runs.
        seed: the seed of clocks and noise.
        record: after which rounds ψ is kept: the last, every one, or the ones listed.
        measured_with: the yardstick, if it is at hand; θ* is the dear part of a short run.
        progress: called with (round, rounds) now and then.
        offsets: what is added to every party's mean gradients, shape (parties, runs, p): where the same
            rows stand in for all of them, see `differing_by_chance`.
    """
    driver = _driver(plan, runs)
    learner = driver.learner
    stick = yardstick(plan.problem, risks) if measured_with is None else measured_with
    wanted = _wanted(record, learner.rounds)
    recorder = _Recorder(stick, len(wanted), runs)
    models = learner.model
    if 0 in wanted:
        recorder.take(models)
    for k, models in _rounds(driver, risks, runs, seed, offsets):
        if k in wanted:
            recorder.take(models)
        if progress is not None and (k % 50 == 0 or learner.finished):
            progress(k, learner.rounds)
    return Simulation(np.array(sorted(wanted)), recorder.psi(), models, stick, learner)


def simulated_models(
    plan: Plan, risks: Mapping[str, Risk], *, runs: int, seed: int = 0
) -> FloatArray:
    """Return the models that so many trainings come to, shape (runs, p), and measure nothing."""
    driver = _driver(plan, runs)
    every = [models for _, models in _rounds(driver, risks, runs, seed)]
    return every[-1] if every else driver.learner.model


def _driver(plan: Plan, runs: int) -> Driver:
    if runs < 1:
        raise TreatyError(f"at least 1 run is needed, not {runs}")
    return Driver(plan, runs)


def _rounds(
    driver: Driver,
    risks: Mapping[str, Risk],
    runs: int,
    seed: int,
    offsets: FloatArray | None = None,
) -> Iterator[tuple[int, FloatArray]]:
    """Take a learner through its rounds; give each round's number and the models after it."""
    plan, learner = driver.plan, driver.learner
    clock_seed, noise_seed = np.random.SeedSequence(seed).spawn(2)
    clocks = PoissonClocks(plan.timetables, np.random.default_rng(clock_seed), runs)
    records = SimulatedRecords(plan, risks)
    noise = SimulatedNoise(plan, np.random.default_rng(noise_seed), runs)
    frozen = _Frozen(runs)
    everybody = np.zeros(runs, dtype=np.int64)
    added = None if offsets is None else _of_blocs(plan, offsets)
    for k in driver.rounds():
        bloc = everybody if learner.synchronous else clocks.next()
        if frozen.stop(bloc == NOBODY, learner.model):
            bloc = np.maximum(bloc, 0)
        answer = records.exact(bloc, driver.ask(bloc))
        if added is not None:
            answer = answer + added[bloc, np.arange(runs)]
        if not noise.silent:
            answer = answer + noise.next(bloc)
        driver.tell_mean(bloc, answer)
        yield k, frozen.models(learner.model)


def _of_blocs(plan: Plan, offsets: FloatArray) -> FloatArray:
    """Return what is added to the mean answer of every bloc, shape (blocs, runs, p)."""
    return np.stack(
        [np.tensordot(bloc.shares, offsets[list(bloc.members)], axes=1) for bloc in plan.blocs_met]
    )


def _wanted(record: Record, rounds: int) -> frozenset[int]:
    """Return the rounds to record; round 0 is the start, the last is always among them."""
    if record == "final":
        return frozenset({rounds})
    if record == "every":
        return frozenset(range(1, rounds + 1)) or frozenset({0})
    listed = frozenset(int(k) for k in record if not isinstance(k, str))
    if any(not 0 <= k <= rounds for k in listed):
        raise TreatyError(f"rounds to record must lie between 0 and {rounds}")
    return listed | {rounds}


class _Frozen:
    """The models of runs that ended early, because nobody was left to talk to."""

    def __init__(self, runs: int) -> None:
        self._ended = np.zeros(runs, dtype=bool)
        self._kept: FloatArray | None = None

    def stop(self, ended: np.ndarray[tuple[int], np.dtype[np.bool_]], models: FloatArray) -> bool:
        """Keep the models of runs that end now; say whether any has ended."""
        new = ended & ~self._ended
        if new.any():
            kept = np.zeros_like(models) if self._kept is None else self._kept
            kept[new] = models[new]
            self._kept = kept
            self._ended |= new
        return self._kept is not None

    def models(self, models: FloatArray) -> FloatArray:
        """Return the models, with those of ended runs as they were at their end."""
        return models if self._kept is None else np.where(self._ended[:, None], self._kept, models)


class _Recorder:
    """Collects models and measures them in batches: one large product instead of many small."""

    def __init__(self, stick: Yardstick, rounds: int, runs: int) -> None:
        self._stick = stick
        self._psi = np.empty((rounds, runs))
        self._waiting: list[FloatArray] = []
        self._done = 0
        self._batch = max(1, 4096 // runs)

    def take(self, models: FloatArray) -> None:
        """Keep the models of one round."""
        self._waiting.append(models)
        if len(self._waiting) >= self._batch:
            self._measure()

    def psi(self) -> FloatArray:
        """Return ψ, shape (rounds, runs)."""
        self._measure()
        return self._psi

    def _measure(self) -> None:
        if self._waiting:
            until = self._done + len(self._waiting)
            self._psi[self._done : until] = self._stick.relative(np.stack(self._waiting))
            self._done, self._waiting = until, []
