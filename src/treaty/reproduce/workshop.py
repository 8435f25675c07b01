"""The workshop: the papers' settings on rows at hand, with results kept from one run to the next."""

from dataclasses import asdict

from treaty.losses import Hinge, Squared
from treaty.reproduce import hospital
from treaty.reproduce.lab import Lab
from treaty.reproduce.rows import Rows, StudyName
from treaty.reproduce.running import Runner
from treaty.reproduce.setting import Setting
from treaty.reproduce.store import Store
from treaty.reproduce.trial import Outcome, SettingName, Step, Trial
from treaty.reproduce.tuning import chosen_step


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

    def setting(self, name: SettingName) -> Setting:
        """Return one of the papers' settings.

        The papers' own numbers: T, g and, in the figures, n_i and ε_i. Θ is ours: the largest
        coefficient of the public rows' models is below half of θ_max.
        """
        if name not in self._settings:
            self._settings[name] = self._made(name)
        return self._settings[name]

    def _made(self, name: SettingName) -> Setting:
        if name == "W lending":
            # g = 0
            return Setting(
                name,
                self._rows("lending"),
                Squared(),
                ridge=0.0,
                theta_max=1.0,
                method="averaged-subgradient",
                horizon=100,
            )
        if name == "W fraud":
            # g = ½θᵀθ
            return Setting(
                name,
                self._rows("fraud"),
                Hinge(),
                ridge=1.0,
                theta_max=2.0,
                method="averaged-subgradient",
                horizon=100,
            )
        if name == "F fraud":
            # g = (1e-5/2)θᵀθ
            return Setting(
                name,
                self._rows("fraud"),
                Hinge(),
                ridge=1e-5,
                theta_max=10.0,
                method="one-at-a-time",
                horizon=100,
            )
        # g = 1e-5 θᵀθ
        return Setting(
            name,
            self._rows("lending" if name == "F lending" else "hospital"),
            Squared(),
            ridge=2e-5,
            theta_max=1.0 if name == "F lending" else 1.5,
            method="one-at-a-time",
            horizon=1_000,
            fewest=hospital.FEWEST,
            full=hospital.FULL_ROWS,
        )

    def _rows(self, name: StudyName) -> Lab:
        if name not in self._labs:
            self._labs[name] = self.rows.lab(name)
        return self._labs[name]

    def described(self) -> list[str]:
        """Return a sentence about the rows of every study that was needed."""
        return [lab.described() for lab in self._labs.values()]

    def step(self, wanted: Step) -> float:
        """Return the step size chosen on public rows for such owners and budgets."""
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
