"""spark-submit's entry."""

import sys

if sys.version_info < (3, 10):  # noqa: UP036 - said before anything that an older one cannot read
    sys.exit(f"the integrator needs Python 3.10 or newer, and {sys.executable} is {sys.version.split()[0]}")

from integrator.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
