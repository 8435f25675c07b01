"""Losses by name: the four that come with Treaty, or a user's own by its module path.

A treaty and a model name their loss, and importing a module runs its code. So a loss that does not ship
is imported only after whoever runs the program has permitted it by its name: an owner in its policy,
anybody else by an argument.
"""

import importlib
from collections.abc import Iterable

from treaty.errors import TreatyError, nearest
from treaty.losses.base import Loss
from treaty.losses.hinge import Hinge
from treaty.losses.huber import Huber
from treaty.losses.logistic import Logistic
from treaty.losses.squared import Squared
from treaty.losses.weighted import Weighted

SHIPPED: dict[str, type[Loss]] = {loss.name: loss for loss in (Squared, Hinge, Logistic, Huber)}
_permitted: dict[str, type[Loss]] = {}


def permit(names: Iterable[str]) -> None:
    """Import losses of one's own, such as "my_losses:Pinball"; treaties may name them from now on."""
    for name in names:
        if name not in SHIPPED:
            _permitted[name] = _own(name)


def ships(loss: Loss) -> bool:
    """Whether a loss is one of Treaty's own, whose declared bounds its tests hold to account."""
    inner = loss.loss if isinstance(loss, Weighted) else loss
    return type(inner) in SHIPPED.values()


def loss_named(name: str, parameters: dict[str, float] | None = None) -> Loss:
    """Return the loss called `name`: a shipped one, or a permitted "package.module:Class".

    Example:
        >>> loss_named("huber", {"delta": 0.5}).slope_bound(10.0, (-1.0, 1.0))
        1.0
    """
    kind = SHIPPED.get(name) or _permitted.get(name)
    if kind is None and ":" in name:
        raise TreatyError(
            f'the loss "{name}" does not come with Treaty, and using it runs the code of that module: '
            "permit it by its name if you trust it (--loss, losses in an owner's policy.toml, "
            "treaty.losses.permit)"
        )
    if kind is None:
        raise TreatyError(
            f'no loss is called "{name}"{nearest(name, SHIPPED)}; shipped are '
            f"{', '.join(sorted(SHIPPED))}, "
            'and your own goes by its module path, such as "my_losses:Pinball"'
        )
    try:
        return kind.from_parameters(parameters or {})
    except TypeError as error:
        raise TreatyError(f'loss "{name}" does not take these parameters: {error}') from error


def _own(path: str) -> type[Loss]:
    module_name, colon, class_name = path.partition(":")
    if not (colon and all(part.isidentifier() for part in [class_name, *module_name.split(".")])):
        raise TreatyError(f'a loss of your own is written "my_losses:Pinball", not "{path}"')
    try:
        kind = getattr(importlib.import_module(module_name), class_name)
    except ImportError as error:
        raise TreatyError(
            f'loss "{path}": cannot import {module_name} ({error}); '
            "install it, or put its folder on PYTHONPATH"
        ) from error
    except AttributeError as error:
        raise TreatyError(f'loss "{path}": {module_name} has no class {class_name}') from error
    except Exception as error:
        raise TreatyError(
            f'loss "{path}": {module_name} fails ({type(error).__name__}: {error})'
        ) from error
    if not (isinstance(kind, type) and issubclass(kind, Loss)):
        raise TreatyError(f'loss "{path}" is not a subclass of treaty.losses.Loss')
    return kind
