"""spark-submit's entry."""

from integrator.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
