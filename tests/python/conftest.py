"""The tests run on whatever platform JAX is told to use: `JAX_PLATFORMS=rxla` (the default here) or,
with `RXLA_AS_CPU=1`, rxla in the place of `cpu`. Either way every program must have been compiled
by rxla; `test_platform.py` checks that."""

import os

if not os.environ.get("RXLA_AS_CPU"):
    os.environ.setdefault("JAX_PLATFORMS", "rxla")
os.environ.setdefault("RXLA_NUM_DEVICES", "4")
