# A release has its base by digest: --build-arg BASE_IMAGE=python:3.12-slim-bookworm@sha256:… (CONTRIBUTING.md). No digest is
# written here: nobody would move it when the base is mended.
ARG BASE_IMAGE=python:3.12-slim-bookworm
FROM ${BASE_IMAGE}
RUN apt-get update && apt-get install -y --no-install-recommends openjdk-17-jre-headless && rm -rf /var/lib/apt/lists/*
WORKDIR /app
# What it runs with, and nothing of what it is tested with.
COPY requirements-runtime.lock ./
RUN pip install --no-cache-dir --require-hashes -r requirements-runtime.lock
COPY run.py LICENSE ./
COPY integrator integrator
COPY channels channels
COPY data data
COPY schemas schemas
# What is compiled once, and the classes of Spark's JVM. Numba takes compiled loops only from a directory that it may write.
ENV NUMBA_CACHE_DIR=/app/numba
RUN python -m compileall -q integrator && python run.py prepare
# Its code is root's; it may write its state, and what Spark and Numba keep.
RUN useradd --create-home --uid 10001 integrator && install -d -m 0700 -o integrator -g integrator state \
    && chown -R integrator:integrator numba
USER integrator
# Of a daemon; a command that ends is over before the first check.
HEALTHCHECK --interval=30s --timeout=10s --start-period=2m \
    CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8472/health', timeout=8)"]
CMD ["python", "run.py", "--help"]
