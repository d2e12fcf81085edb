#!/bin/sh
# Style and lints of the client, its tests, its driver and its generator.
set -eu
cargo fmt --all --check
cargo clippy --quiet --locked --workspace --all-targets -- -D warnings
