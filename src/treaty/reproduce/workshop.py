"""The workshop: the papers' settings on rows at hand, with results kept from one run to the next."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Literal

from treaty.losses import Hinge, Squared
from treaty.reproduce import hospital
from treaty.reproduce.lab import Lab
from treaty.reproduce.running import Runner
from treaty.reproduce.setting import Setting
from treaty.reproduce.store import Store
from treaty.reproduce.trial import Noise, Outcome, Trial
from treaty.reproduce.tuning import BUDGETS, chosen_step

StudyName = Literal["lending", "fraud", "hospital"]
SettingName = Literal["W lending", "W fraud", "F lending", "F hospital", "F fraud"]


class Workshop:
    """Where trials are run.

    Args:
        lab: gives the rows of a study, by name; asked once for each that is needed.
        store: where results are kept.
        runs: how many runs of every trial.
        seed: of clocks and noise.
    """

    def __init__(
        self, lab: Callable[[StudyName], Lab], store: Store, *, runs: int = 100, seed: int = 0
    ) -> None:
        self._lab = lab
        self._store = store
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
            self._labs[name] = self._lab(name)
        return self._labs[name]

    def step(
        self,
        name: SettingName,
        noise: Noise,
        sizes: tuple[int, ...] | None,
        budgets: Sequence[float] = BUDGETS,
    ) -> float:
        """Return the step size chosen on public rows for such owners and budgets."""
        setting = self.setting(name)
        depends_on = {
            "step of": name,
            "rows": setting.lab.fingerprint,
            "noise": noise,
            "sizes": sizes,
            "budgets": list(budgets),
            "seed": self.seed,
        }
        return float(
            self._store.get(
                depends_on, lambda: chosen_step(setting, noise, sizes, budgets, self.seed)
            )
        )

    def known(self, trial: Trial) -> bool:
        """Whether a trial has been run before."""
        return self._store.has(self._depends_on(trial))

    def run(self, trial: Trial) -> Outcome:
        """Return what a trial came to, from the store or by running it."""
        name: SettingName = trial.setting  # pyright: ignore[reportAssignmentType]
        if name not in self._runners:
            self._runners[name] = Runner(self.setting(name), runs=self.runs, seed=self.seed)
        runner = self._runners[name]
        found = self._store.get(
            self._depends_on(trial), lambda: runner.run(trial).model_dump(mode="json")
        )
        return Outcome.model_validate(found)

    def _depends_on(self, trial: Trial) -> dict[str, object]:
        name: SettingName = trial.setting  # pyright: ignore[reportAssignmentType]
        rows = self.setting(name).lab.fingerprint
        return {**asdict(trial), "rows": rows, "runs": self.runs, "seed": self.seed}

    def cost(self, trial: Trial) -> float:
        """Return about how long a trial takes, in no particular unit."""
        setting = self.setting(trial.setting)  # pyright: ignore[reportArgumentType]
        steps = setting.horizon * (1.0 + 0.5 * trial.every)
        if isinstance(setting.loss, Squared):
            return steps * (0.6 if trial.noise == "corrected" else 0.1) * (3 if trial.foretold else 1)
        records = setting.holdings(trial.sizes).records
        rows = sum(records.values()) / (1 if setting.synchronous else len(records))
        return steps * rows * 2e-4 + 50 * trial.foretold
