"""``python -m palmette``: the command line."""

from palmette.cli import main

if __name__ == "__main__":
    main()
