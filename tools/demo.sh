#!/usr/bin/env bash
# Installs what is missing, builds the wheel, and trains a digit classifier on rxla and on XLA:CPU.
source "$(dirname "$0")/setup.sh"
need_packages
make_venv demo
exec "$venv/bin/python" examples/jax/digits.py --compare "$@"
