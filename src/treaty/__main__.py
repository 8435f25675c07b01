"""python -m treaty: the command line."""

import os
import sys

# "-m" puts the current folder first on the path. What lies in it must not become code because of us.
if not sys.flags.safe_path and sys.path and sys.path[0] in ("", os.getcwd()):
    del sys.path[0]

from treaty.cli import main

main()
