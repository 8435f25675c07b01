"""The demonstration as one picture."""

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from treaty.demo.story import Story


def draw(story: Story, path: Path) -> None:
    """Draw every airline alone against all together, and what other budgets would give."""
    report = story.training
    figure = Figure(figsize=(11, 4.6), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(3, 2))
    ranked = sorted(report.alone.items(), key=lambda item: item[1])
    expected = story.forecast
    left.bar([name for name, _ in ranked], [psi for _, psi in ranked], color="0.7", label="alone")
    known = [name for name, _ in ranked if name not in expected.unknown]
    told = [expected.alone[name] for name in known]
    left.errorbar(
        known,
        [own.value for own in told],
        [[own.value - own.low for own in told], [own.high - own.value for own in told]],
        fmt="D",
        color="black",
        markersize=4,
        elinewidth=0.7,
        label="alone, as forecast",
    )
    _line(left, report.together, "C2", "together, private, ε = 1")
    if report.public_only is not None:
        _line(left, report.public_only, "C1", "public rows only")
    _line(left, report.nothing, "C3", "nothing")
    left.set(yscale="log", xlabel="airline", ylabel="relative fitness ψ, lower is better")
    left.set_title("Each airline alone, without any noise", loc="left", fontsize=11)
    left.legend(frameon=False, fontsize=9)
    epsilons = sorted(story.by_epsilon)
    right.plot(
        epsilons, [story.by_epsilon[e] for e in epsilons], "o-", color="C0", label="100 runs, mean"
    )
    right.errorbar(
        [1.0],
        [expected.together.value],
        [
            [expected.together.value - expected.together.low],
            [expected.together.high - expected.together.value],
        ],
        fmt="D",
        color="black",
        markersize=4,
        capsize=4,
        label="forecast from public rows",
    )
    right.plot([1.0], [report.together], "*", color="C2", markersize=15, label="the real training")
    if report.public_only is not None:
        _line(right, report.public_only, "C1", "public rows only")
    right.set(xscale="log", yscale="log", xlabel="ε of every airline")
    right.set_title("All together, privately", loc="left", fontsize=11)
    right.legend(frameon=False, fontsize=9)
    figure.savefig(path, dpi=150)


def _line(axes: Axes, height: float, color: str, label: str) -> None:
    axes.axhline(height, color=color, linestyle="--", label=label)
