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
# As a platform of its own and in the place of JAX's cpu, at the same time: most of it is Python, which has one thread.
in_place="$(mktemp)"
env -u JAX_PLATFORMS RXLA_AS_CPU=1 "$venv/bin/python" -m pytest -q tests/python >"$in_place" 2>&1 &
failed=0
JAX_PLATFORMS=rxla "$venv/bin/python" -m pytest -q tests/python || failed=1
wait $! || failed=1
echo "and in place of JAX's cpu platform:"
cat "$in_place"
rm "$in_place"
exit "$failed"
