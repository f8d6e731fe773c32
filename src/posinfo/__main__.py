"""``python -m posinfo``: the same as the command ``posinfo``."""

from posinfo.cli import main

if __name__ == "__main__":
    main()
