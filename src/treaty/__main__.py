"""python -m treaty: the command line."""

from treaty.cli import main

main()
