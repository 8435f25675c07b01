"""Treaty: is a model trained together under differential privacy worth it, and for whom?

The handful of names that most programs need:

    treaty.load        read a treaty from TOML
    treaty.sources     where each party's records are
    treaty.Evidence    rows that stand in for the records, read once for many forecasts
    treaty.forecast    what a collaboration is worth, before anyone trains
    treaty.plan        good settings for a draft, on public rows alone
    treaty.advise      whom to invite, which ε, at what price
    treaty.assemble    read the records under the treaty
    treaty.train       train once, with live noise and real budgets
    treaty.simulate    train many times at once, with simulated noise
    treaty.Model       the trained model: scikit-learn estimator, JSON
    treaty.adapt_model a shared model becomes an owner's own, and what that brings
    treaty.TreatyRegressor, treaty.TreatyClassifier
                       the same in the manner of scikit-learn, where one machine holds all records
"""

import sys

# "python -m treaty" puts the current folder first on the path, and what lies there must not become code
# because of us. Before any other import: even a json.py beside a treaty would be taken for Python's own.
if sys.argv[:1] == ["-m"] and not sys.flags.safe_path:
    del sys.path[0]

from typing import Any, cast

import lazy_loader

# The names are those of __init__.pyi, each imported when it is first used.
__getattr__, __dir__, __all__ = cast(Any, lazy_loader).attach_stub(__name__, __file__)

__version__ = "0.1.0"
