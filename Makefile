# make quickstart and make test set everything up themselves: Python, Java 17 or newer, and make are enough.
VENV ?= .venv
PYTHON ?= $(shell for p in python3.13 python3.12 python3.11 python3.10 python3; do \
	command -v $$p >/dev/null 2>&1 && $$p -c 'import sys; sys.exit(not ((3, 10) <= sys.version_info[:2] < (3, 14)))' 2>/dev/null \
	&& { echo $$p; break; }; done)
BIN := $(VENV)/bin
# The pure tests with a marker; each process would import all others first.
marked = -m $(1) $$(grep -rlw 'mark.$(1)' tests/unit tests/wire)

.PHONY: quickstart install test nightly fast lint fmt size leaves cov bench faults fuzz lock docs site release-dry-run clean

quickstart: $(VENV)/installed
	@$(BIN)/python run.py quickstart

# For services of systemd, as root: the tested versions, their user, the unit, and what starts need not compile. Again: an upgrade.
install:
	$(PYTHON) -m venv /opt/integrator
	/opt/integrator/bin/pip install --quiet --require-hashes -r requirements-runtime.lock
	/opt/integrator/bin/pip install --quiet --no-deps --force-reinstall .
	ln -sf /opt/integrator/bin/integrator /usr/local/bin/integrator
	id -u integrator > /dev/null 2>&1 || useradd --system --create-home --home-dir /var/lib/integrator integrator
	@runuser -u integrator -- /opt/integrator/bin/python -c '' \
	|| { echo 'the user integrator may not run $(PYTHON): make install PYTHON=/usr/bin/python3'; exit 2; }
	install -m 644 ops/integrator.service /etc/systemd/system/integrator@.service
	NUMBA_CACHE_DIR=/var/cache/integrator /opt/integrator/bin/integrator prepare
	chown -R integrator:integrator /var/cache/integrator

# What is pure runs in parallel, random schedules of exactly once among it; tests of compiled loops with each index
# checked. Tests with Spark and a broker run in three processes, each with its own Spark and broker; what takes long is
# left to `make nightly`, and those that have variants run with one of them, by a seed that is printed.
test: $(VENV)/prepared lint size
	$(BIN)/python -m tests.leaves --random 3 --tests
	$(BIN)/pytest -n auto --dist loadfile -m 'not engine' tests/unit tests/wire tests/fuzz
	NUMBA_BOUNDSCHECK=1 $(BIN)/pytest -n auto --dist loadfile $(call marked,engine)
	$(BIN)/pytest -n auto tests/model
	$(BIN)/pytest -n 3 --dist loadfile --by-day tests/faults tests/broker

# All tests, in some hours: those with a broker in all variants, and compiled loops without the compiler.
nightly: $(VENV)/prepared lint leaves
	$(BIN)/pytest -n auto --dist loadfile tests/unit tests/wire tests/fuzz
	NUMBA_BOUNDSCHECK=1 $(BIN)/pytest -n auto --dist loadfile $(call marked,engine)
	NUMBA_DISABLE_JIT=1 $(BIN)/pytest -n auto --dist loadfile $(call marked,engine_without_compiler)
	$(BIN)/pytest -n auto tests/model
	$(BIN)/pytest -n 3 --dist loadfile tests/faults tests/broker

# Pure tests that matter to most changes: neither Spark nor a broker.
fast: $(VENV)/installed
	$(BIN)/pytest -q -n auto --dist loadfile $(call marked,fast)

lint: $(VENV)/installed
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

fmt: $(VENV)/installed
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

# Lines by package, whole and core, beside those of the last release.
size: $(VENV)/installed
	@$(BIN)/python -m tests.size

# Each leaf removed in turn, and what is left checked: a minute each. `make test` has three at random, with the tests of `make fast`.
leaves: $(VENV)/installed
	$(BIN)/python -m tests.leaves

# Lines and branches that pure tests run, as pages in build/coverage. Compiled loops count as not run.
cov: $(VENV)/installed
	$(BIN)/pytest -q -n auto --dist loadfile --cov --cov-report=html --cov-report=term:skip-covered tests/unit tests/wire

bench: $(VENV)/installed
	$(BIN)/python -m tests.bench.files_to_kafka
	$(BIN)/python -m tests.bench.steps
	$(BIN)/python -m tests.bench.encoders
	$(BIN)/python -m tests.bench.first_pass_tables
	$(BIN)/python -m tests.bench.dialects
	$(BIN)/python -m tests.bench.peers
	$(BIN)/python -m tests.bench.topics
	$(BIN)/python -m tests.bench.capture
	$(BIN)/python -m tests.bench.guarantees

# Campaigns of hundreds of rounds, in days.
faults: nightly
	$(BIN)/python -m tests.model --schedules 1000000 --seed 100000
	$(BIN)/python -m tests.faults.campaign --rounds 200 --seed 1
	$(BIN)/python -m tests.faults.campaign --rounds 200 --seed 2 --delivery exactly_once
	$(BIN)/python -m tests.faults.cluster_campaign --rounds 20 --seed 3 --only "executor paused"
	$(BIN)/python -m tests.faults.cluster_campaign --rounds 40 --seed 4 --delivery exactly_once
	$(BIN)/python -m tests.faults.restored_states --rounds 60 --seed 5
	$(BIN)/python -m tests.faults.topics_campaign --rounds 60 --seed 7
	$(BIN)/python -m tests.faults.capture_campaign --rounds 200 --seed 8
	$(BIN)/python -m tests.faults.capture_campaign --rounds 60 --seed 9 --product mariadb
	$(BIN)/python -m tests.faults.capture_campaign --rounds 60 --seed 10 --product mysql
	$(BIN)/python -m tests.faults.range_campaign --rounds 200 --seed 14
	$(BIN)/python -m tests.faults.range_campaign --rounds 200 --seed 14 --product mariadb
	$(BIN)/python -m tests.faults.range_campaign --rounds 200 --seed 14 --product mysql
	$(BIN)/python -m tests.faults.capture_campaign --defines --minutes 60 --seed 11
	$(BIN)/python -m tests.faults.capture_campaign --defines --minutes 60 --seed 12 --product mariadb
	$(BIN)/python -m tests.faults.capture_campaign --defines --minutes 60 --seed 13 --product mysql
	$(BIN)/python -m tests.faults.failover_campaign --rounds 10 --seed 15
	$(BIN)/python -m tests.faults.failover_campaign --rounds 10 --seed 15 --product mariadb
	$(BIN)/python -m tests.faults.failover_campaign --rounds 10 --seed 15 --product postgres
	$(BIN)/python -m tests.faults.set_aside_campaign --rounds 20 --seed 14
	$(BIN)/python -m tests.faults.resolved_campaign --rounds 100 --seed 15
	$(BIN)/python -m tests.faults.resolved_campaign --rounds 100 --seed 16 --product mariadb
	$(BIN)/python -m tests.faults.resolved_campaign --rounds 100 --seed 17 --product mysql --delivery at_least_once
	$(BIN)/python -m tests.faults.frozen_states --rounds 16 --seed 6
	$(BIN)/python -m tests.faults.restarts --restarts 200
	$(BIN)/python -m tests.faults.kill_minus_nine --kills 20
	$(BIN)/python -m tests.faults.socket_kills --lines 500000 --kills 12
	$(BIN)/python -m tests.faults.airbyte_kills --kills 20
	$(BIN)/python -m tests.faults.state_damage --rounds 200
	$(BIN)/python -m tests.faults.live_postgres --seconds 60 --kills 4
	$(BIN)/python -m tests.faults.many_channels --channels 4 --starts 20
	$(BIN)/python -m tests.faults.many_channels --channels 12 --starts 20

# Records that are nearly right, in all dialects: once as they are decoded, once with each index of compiled loops checked. And
# the properties of the suite with many more examples.
fuzz: $(VENV)/installed
	$(BIN)/python -m tests.fuzz --lines 100000 --seed 1
	$(BIN)/pytest -q -n auto --hypothesis-profile fuzz -m hypothesis tests/unit tests/wire
	$(BIN)/python -m tests.fuzz.rejected --lines 100000
	$(BIN)/python -m tests.fuzz.whole_job --lines 100000
	NUMBA_BOUNDSCHECK=1 $(BIN)/python -m tests.fuzz --lines 100000 --seed 1

# The pages, graphs and the JSON Schema that are made from code and figures; a test checks that they are current.
docs: $(VENV)/installed
	$(BIN)/python -m tests.generate

# The documentation as a site, in build/site.
site: $(VENV)/installed
	$(BIN)/mkdocs build --strict

# What a release consists of, from the commit that is checked out, in build/release; and the wheel is tried.
release-dry-run: $(VENV)/installed
	$(BIN)/python -m tests.release

# The lock files: exact versions and hashes, for every Python and platform that is supported; and, of the same versions, what the
# image has: the base and these extras.
lock: IMAGE := sql postgres mysql aws
lock:
	$(PYTHON) -m venv build/lock && build/lock/bin/pip install -q uv
	build/lock/bin/uv pip compile -q --universal --python-version 3.10 --all-extras --generate-hashes --no-header \
		--no-emit-index-url --upgrade -o requirements.lock pyproject.toml
	build/lock/bin/uv pip compile -q --universal --python-version 3.10 $(IMAGE:%=--extra %) --generate-hashes --no-header \
		--no-emit-index-url --constraint requirements.lock --upgrade -o requirements-runtime.lock pyproject.toml

$(VENV)/installed: requirements.lock pyproject.toml
	@test -n "$(PYTHON)" || { echo "Python 3.10 to 3.13 is needed, and none of python3.10 … python3.13, python3 is one."; exit 5; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { echo "$(PYTHON) cannot make virtual environments: install its venv package (Debian: python3-venv)."; exit 5; }
	@command -v java >/dev/null 2>&1 || { echo "Java 17 or newer is needed, and there is no java on the PATH (Debian: openjdk-17-jre-headless)."; exit 5; }
	@java -version 2>&1 | sed -n '1s/.*version "\([0-9]*\).*/\1/p' | { read version; test "$${version:-0}" -ge 17 || { echo "Java 17 or newer is needed; java here is version $$version."; exit 5; }; }
	@printf 'Installing the locked dependencies into $(VENV), about a minute and a half '
	@(while sleep 2; do printf .; done) & dots=$$!; \
	{ test -x $(BIN)/python || $(PYTHON) -m venv $(VENV); } && \
	$(BIN)/python -m pip install -q --disable-pip-version-check --require-hashes -r requirements.lock && \
	$(BIN)/python -m pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .; code=$$?; \
	kill $$dots; echo; exit $$code
	@touch $@

# Tests start Spark many times: each start takes half of the JVM's CPU so.
$(VENV)/prepared: $(VENV)/installed
	@$(BIN)/python run.py prepare
	@touch $@

clean:
	rm -rf $(VENV) build state spark-warehouse *.egg-info
