"""An Equinox multi-layer perceptron fitted to a curve; an ensemble of them by `filter_vmap`."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

TOLERANCE = 1e-4


def run():
    x = jnp.linspace(-2, 2, 64)[:, None]
    y = jnp.sin(3 * x) + 0.1 * jax.random.normal(jax.random.key(0), x.shape)
    optimizer = optax.adam(1e-2)

    @eqx.filter_vmap
    def create(key):
        return eqx.nn.MLP(1, 1, 16, 2, activation=jax.nn.softplus, key=key)

    @eqx.filter_jit
    @eqx.filter_vmap(in_axes=(eqx.if_array(0), eqx.if_array(0)))
    def step(model, state):
        def loss_of(model):
            return jnp.mean((jax.vmap(model)(x) - y) ** 2)

        loss, gradient = eqx.filter_value_and_grad(loss_of)(model)
        updates, state = optimizer.update(gradient, state, eqx.filter(model, eqx.is_array))
        return eqx.apply_updates(model, updates), state, loss

    models = create(jax.random.split(jax.random.key(1), 3))
    state = eqx.filter_vmap(lambda model: optimizer.init(eqx.filter(model, eqx.is_array)))(models)
    losses = []
    for _ in range(40):
        models, state, loss = step(models, state)
        losses.append(loss)
    predictions = eqx.filter_vmap(lambda model: jax.vmap(model)(x))(models)
    return {"losses": np.array(losses), "predictions": np.asarray(predictions)}
