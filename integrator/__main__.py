"""`python -m integrator`: the same commands as run.py."""

from integrator.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
