"""What every picture is drawn on."""

from typing import TYPE_CHECKING

from treaty.errors import TreatyError

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def canvas(width: float, height: float) -> "Figure":
    """Return an empty picture of so many inches, or say what it takes to draw."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise TreatyError("pictures need Matplotlib: pip install 'treaty[demo]'") from error
    return Figure(figsize=(width, height), layout="constrained")
