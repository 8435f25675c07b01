"""python -m treaty: the command line."""

from treaty.cli.main import main

main()
