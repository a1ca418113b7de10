"""``python -m glassloom``: the same as the ``glassloom`` command."""

import sys

from glassloom.cli import main

if __name__ == "__main__":
    sys.exit(main())
