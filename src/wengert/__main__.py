"""``python -m wengert`` is the command ``wengert``."""

from wengert.report.command import main

if __name__ == "__main__":
    main()
