"""spark-submit's entry."""

from integrator.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
