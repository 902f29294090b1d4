#!/usr/bin/env bash
# Installs what is missing and runs all tests: Rust first, then Python through the built wheel.
source "$(dirname "$0")/setup.sh"
# 3 GB on disk instead of 14: nothing is built twice here, and nobody looks with a debugger.
export CARGO_INCREMENTAL="${CARGO_INCREMENTAL:-0}" CARGO_PROFILE_DEV_DEBUG="${CARGO_PROFILE_DEV_DEBUG:-0}"
need_packages
cargo test --workspace
make_venv test
need_chromium
cargo build -p rxla-cli
RXLA_CLI=target/debug/rxla "$venv/bin/python" -m pytest -q -rs tests/view tests/tf
export JAX_PLATFORMS=rxla
"$venv/bin/python" -m pytest -q tests/python
echo "and in place of JAX's cpu platform:"
unset JAX_PLATFORMS
RXLA_AS_CPU=1 "$venv/bin/python" -m pytest -q tests/python
