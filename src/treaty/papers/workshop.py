"""The workshop: the papers' settings on rows at hand, with results kept from one run to the next."""

from collections.abc import Callable
from copy import copy
from dataclasses import asdict, dataclass

from treaty.losses import Hinge, Loss, Squared
from treaty.papers.lab import Lab
from treaty.papers.rows import Rows, StudyName
from treaty.papers.running import Runner
from treaty.papers.setting import Setting
from treaty.papers.trial import Outcome, SettingName, Step, Trial
from treaty.papers.tuning import chosen_step
from treaty.studies import hospital
from treaty.trials.store import Store


@dataclass(frozen=True, eq=False)
class _Terms:
    """What a paper says about a setting; θ_max is ours.

    Args:
        study: whose rows.
        loss: ℓ.
        ridge: λ of g(θ) = (λ/2)‖θ‖².
        theta_max: half the width of Θ, at least twice the public models' largest coefficient.
        method: the learner.
        horizon: T.
    """

    study: StudyName
    loss: Loss
    ridge: float
    theta_max: float
    method: str
    horizon: int


_TERMS: dict[SettingName, _Terms] = {
    # g = 0
    "W lending": _Terms("lending", Squared(), 0.0, 1.0, "averaged-subgradient", 100),
    # g = ½θᵀθ
    "W fraud": _Terms("fraud", Hinge(), 1.0, 2.0, "averaged-subgradient", 100),
    # g = 1e-5 θᵀθ
    "F lending": _Terms("lending", Squared(), 2e-5, 1.0, "one-at-a-time", 1_000),
    "F hospital": _Terms("hospital", Squared(), 2e-5, 1.5, "one-at-a-time", 1_000),
    # g = (1e-5/2)θᵀθ
    "F fraud": _Terms("fraud", Hinge(), 1e-5, 10.0, "one-at-a-time", 100),
}


class Workshop:
    """Where trials are run.

    Args:
        rows: where the rows come from.
        store: where results are kept.
        runs: how many runs of every trial.
        seed: of clocks and noise.
    """

    def __init__(self, rows: Rows, store: Store, *, runs: int = 100, seed: int = 0) -> None:
        self.rows = rows
        self.store = store
        self.runs = runs
        self.seed = seed
        self._labs: dict[StudyName, Lab] = {}
        self._settings: dict[SettingName, Setting] = {}
        self._runners: dict[SettingName, Runner] = {}
        self._steps: Callable[[Step], float] | None = None

    def with_steps(self, steps: Callable[[Step], float]) -> "Workshop":
        """Return this workshop, sharing all but step sizes: those come from a function."""
        other = copy(self)
        other._steps = steps
        return other

    def setting(self, name: SettingName) -> Setting:
        """Return one of the papers' settings."""
        if name not in self._settings:
            terms = _TERMS[name]
            self._settings[name] = Setting(
                name,
                self._rows(terms.study),
                terms.loss,
                ridge=terms.ridge,
                theta_max=terms.theta_max,
                method=terms.method,
                horizon=terms.horizon,
                fewest=hospital.FEWEST,
                full=hospital.FULL_ROWS,
            )
        return self._settings[name]

    def _rows(self, name: StudyName) -> Lab:
        if name not in self._labs:
            self._labs[name] = self.rows.lab(name)
        return self._labs[name]

    def described(self) -> list[str]:
        """Return a sentence about the rows of every study that was needed."""
        return [lab.described() for lab in self._labs.values()]

    def step(self, wanted: Step) -> float:
        """Return the step size for such owners and budgets, chosen on public rows or given."""
        if self._steps is not None:
            return self._steps(wanted)
        setting = self.setting(wanted.setting)
        return float(
            self.store.get(
                self._depends_on(wanted),
                lambda: chosen_step(setting, wanted.noise, wanted.sizes, wanted.budgets, self.seed),
            )
        )

    def known(self, wanted: Trial | Step) -> bool:
        """Whether a result is there already."""
        return self.store.has(self._depends_on(wanted))

    def run(self, trial: Trial) -> Outcome:
        """Return what a trial came to, from the store or by running it."""
        name = trial.setting
        if name not in self._runners:
            self._runners[name] = Runner(self.setting(name), runs=self.runs, seed=self.seed)
        runner = self._runners[name]
        found = self.store.get(
            self._depends_on(trial), lambda: runner.run(trial).model_dump(mode="json")
        )
        return Outcome.model_validate(found)

    def _depends_on(self, wanted: Trial | Step) -> dict[str, object]:
        rows = self.setting(wanted.setting).lab.fingerprint
        kind = type(wanted).__name__
        return {
            **asdict(wanted), "kind": kind, "rows": rows, "runs": self.runs, "seed": self.seed
        }  # fmt: skip

    def cost(self, job: Trial | Step) -> float:
        """Return about how many milliseconds a job takes."""
        setting = self.setting(job.setting)
        if isinstance(job, Step):
            return 0.4 * setting.horizon * len(job.budgets)
        trial = job
        steps = setting.horizon * (1.0 + 0.5 * trial.every)
        if isinstance(setting.loss, Squared):
            return (
                steps * (0.6 if trial.noise == "corrected" else 0.1) * (3 if trial.foretold else 1)
            )
        records = setting.holdings(trial.sizes).records
        rows = sum(records.values()) / (1 if setting.synchronous else len(records))
        return steps * rows * 2e-4 + 50 * trial.foretold
