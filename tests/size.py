"""Lines of the product by package, whole and core, beside those of an earlier commit: `make size`.

The core is what `run.job` imports once every leaf is cut off. A leaf is what an entry of a dict, or a command, adds.
"""

from __future__ import annotations

import argparse
import io
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from pathlib import Path

import grimp

ROOT = Path(__file__).resolve().parents[1]
LEAVES = {
    "integrator.sources": ["sockets", "kafka", "postgres", "binlog"],
    "integrator.decode.dialects": [
        "airbyte", "canal", "cloudevents", "debezium", "delta_cdf", "dms", "goldengate", "maxwell", "opencdc",
        "pgoutput", "rows", "wal2json",
    ],
    "integrator.decode.encodings": ["avro", "json_schema", "protobuf"],
    "integrator.formats": [
        "avro", "avro_file", "bson", "csv_text", "hvr_xml", "json_schema", "parquet_file", "plain_json", "protobuf",
        "single_value",
    ],
    "integrator.encode.envelopes": ["airbyte", "debezium", "opencdc"],
    "integrator.imports": ["airbyte", "debezium", "hvr"],
    "integrator.channel": ["mistakes"],
    "integrator.names": ["hvr", "kafka", "peers", "consumers"],
    "integrator.plan": ["several"],
    "integrator.tables": ["sql", "avsc", "airbyte_catalog"],
    "integrator": ["airbyte", "api", "compare", "monitor", "refresh", "registry", "replay", "resolved"],
}  # fmt: skip
"""Of each package the modules that are leaves: what a user can choose. `make leaves` removes each of them."""
COMMANDS = {
    "integrator.formats.single_value": ["integrator.plan.single_value"],
    "integrator.names.hvr": ["integrator.imports.hvr_actions"],
    "integrator.plan.several": ["integrator.sources.several"],
    "integrator.airbyte": ["integrator.cli.airbyte"],
    "integrator.compare": ["integrator.cli.compare"],
    "integrator.refresh": ["integrator.cli.refresh"],
    "integrator.replay": ["integrator.cli.replay", "integrator.cli.replay_command"],
    "integrator.sources.kafka": ["integrator.cli.over_topics"],
    "integrator.registry": [
        "integrator.registration.compatible",
        "integrator.registration.refused",
        "integrator.registration.registering",
    ],
    "integrator.sources.postgres": ["integrator.cli.live"],
    "integrator.sources.sockets": ["integrator.cli.send", "integrator.cli.send_command"],
}
"""Of a leaf the modules elsewhere that are its commands, or are otherwise nothing without it."""
OF_LEAVES = [
    "integrator.sources.capture", "integrator.sources.spooled", "integrator.sources.spool",
    "integrator.decode.encodings.pgoutput", "integrator.formats.json_object", "integrator.imports",
]  # fmt: skip
"""What only leaves are built upon: in no dict, and not in the core."""


def lines_of(root: Path) -> dict[str, int]:
    """Return how many lines each module of the product has."""
    found = {}
    for path in (root / "integrator").rglob("*.py"):
        parts = path.relative_to(root).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = len(path.read_text(encoding="utf-8").splitlines())
    return found


def core_of(root: Path) -> set[str]:
    """Return the modules of the core."""
    sys.path.insert(0, str(root))
    sys.modules.pop("integrator", None)
    try:
        graph = grimp.build_graph("integrator", cache_dir=None)
    finally:
        sys.path.remove(str(root))
    leaves = {*OF_LEAVES, *(f"{package}.{name}" for package, names in LEAVES.items() for name in names)}
    leaves |= {module for modules in COMMANDS.values() for module in modules}
    if root == ROOT and (unknown := leaves - graph.modules):
        raise SystemExit(f"no modules of the product: {', '.join(sorted(unknown))}; mend LEAVES in tests/size.py")
    for module in list(graph.modules):
        if any(module == leaf or module.startswith(f"{leaf}.") for leaf in leaves):
            graph.remove_module(module)
    return {"integrator.run.job", *graph.find_upstream_modules("integrator.run.job")}


def sizes(root: Path) -> tuple[Counter[str], Counter[str]]:
    """Return the lines of each package: of all modules, and of those of the core."""
    whole, core, modules = Counter[str](), Counter[str](), core_of(root)
    for module, lines in lines_of(root).items():
        package = ".".join(module.split(".")[1:2]) or "integrator"
        whole[package] += lines
        core[package] += lines * (module in modules)
    return whole, core


def _checked_out(commit: str, directory: Path) -> Path:
    packed = subprocess.run(["git", "archive", commit, "integrator"], cwd=ROOT, check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(directory, filter="data")
    return directory


def _last_tag() -> str:
    words = ["git", "describe", "--tags", "--abbrev=0"]
    return subprocess.run(words, cwd=ROOT, check=False, capture_output=True, text=True).stdout.strip()


def main() -> None:
    """Print the table. --since: a commit to compare with; otherwise the last release, if there is one."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--since", default=_last_tag(), help="a commit or a tag")
    since = arguments.parse_args().since
    whole, core = sizes(ROOT)
    before = (Counter[str](), Counter[str]())
    if since:
        with tempfile.TemporaryDirectory() as directory:
            before = sizes(_checked_out(since, Path(directory)))
    title = f"since {since}" if since else "no earlier one"
    print(f"{'package':<14}{'whole':>9}{'core':>9}   {title}")
    for package in [*sorted(whole.keys() | before[0].keys(), key=lambda one: -core[one]), "all"]:
        now = [sum(part.values()) if package == "all" else part[package] for part in (whole, core)]
        then = [sum(part.values()) if package == "all" else part[package] for part in before]
        change = "".join(f"{a - b:>+9,}" for a, b in zip(now, then, strict=True)) if since else ""
        print(f"{package:<14}{now[0]:>9,}{now[1]:>9,}   {change}")


if __name__ == "__main__":
    main()
