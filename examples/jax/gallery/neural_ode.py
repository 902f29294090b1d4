"""A neural ODE: an Equinox network in a Diffrax solver, trained on a spiral through its adjoint."""

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

TOLERANCE = 1e-4


def solve(field, start, times):
    return diffrax.diffeqsolve(
        diffrax.ODETerm(lambda t, y, field: field(y)),
        diffrax.Tsit5(),
        t0=times[0],
        t1=times[-1],
        dt0=0.1,
        y0=start,
        args=field,
        saveat=diffrax.SaveAt(ts=times),
        stepsize_controller=diffrax.PIDController(rtol=1e-3, atol=1e-4),
        max_steps=64,
    ).ys


def run():
    times = jnp.linspace(0, 2, 10)
    starts = jax.random.uniform(jax.random.key(0), (4, 2), minval=0.5, maxval=1.0)
    spiral = jnp.array([[-0.3, -1.5], [1.5, -0.3]])
    wanted = jax.vmap(lambda y0: jax.vmap(lambda t: jax.scipy.linalg.expm(t * spiral) @ y0)(times))(starts)
    model = eqx.nn.MLP(2, 2, 16, 1, activation=jnp.tanh, key=jax.random.key(1))
    optimizer = optax.adam(2e-2)
    state = optimizer.init(eqx.filter(model, eqx.is_inexact_array))

    @eqx.filter_jit
    def step(model, state):
        def loss_of(model):
            return jnp.mean((jax.vmap(lambda y0: solve(model, y0, times))(starts) - wanted) ** 2)

        loss, gradient = eqx.filter_value_and_grad(loss_of)(model)
        updates, state = optimizer.update(gradient, state)
        return eqx.apply_updates(model, updates), state, loss

    losses = []
    for _ in range(8):
        model, state, loss = step(model, state)
        losses.append(loss)
    path = eqx.filter_jit(solve)(model, starts[0], times)
    return {"losses": np.array(losses), "path": np.asarray(path), "wanted": np.asarray(wanted)}
