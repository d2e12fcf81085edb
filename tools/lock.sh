#!/usr/bin/env bash
# Pins every dependency with its hashes, for all supported Pythons and platforms at once. Called by
# `make lock`; arguments after the first go to uv (for example `make lock ARGS=--upgrade`).
set -euo pipefail
cd "$(dirname "$0")/.."

uv=$1
shift

compile() {
    "$uv" pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate \
        --no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" "$@"
}

compile requirements/uv.in -o requirements/uv.txt "$@"
compile tools/requirements.in -o tools/requirements.txt "$@"
# Everything a contributor needs, and out of it what the server alone needs.
compile pyproject.toml clients/python/pyproject.toml --extra english-fast --extra wordllama --group dev \
    -o requirements/dev.txt "$@"
compile pyproject.toml -c requirements/dev.txt -o requirements/server.txt
# What source distributions, ours and others', are built with.
compile requirements/build.in -c requirements/dev.txt -o requirements/build.txt "$@"
