"""Small programs as users of JAX write them, with the libraries they use.

Each module has `run()`, which computes with fixed seeds and returns arrays by name, and
`TOLERANCE`, the relative difference (of an array's largest number) that two platforms may have.
"""

NAMES = [
    "classifier_nnx",
    "character_lm",
    "equinox_regression",
    "gaussian_process",
    "graph_network",
    "hamiltonian_monte_carlo",
    "heat_and_waves",
    "lstm",
    "neural_ode",
    "optax_schedules",
    "policy_gradient",
    "stiff_ode",
    "variational_autoencoder",
    "vision_transformer",
]
