"""Proximal policy optimisation on a cart with a pole: environments by `vmap`, time by `scan`."""

import jax
import jax.numpy as jnp
import numpy as np
import optax

TOLERANCE = 1e-4

ENVIRONMENTS, STEPS = 8, 24


def reset(key):
    return jax.random.uniform(key, (4,), minval=-0.05, maxval=0.05)


def move(state, action, key):
    """One step of the cart: the next state (a new one after a fall), the reward, and whether it fell."""
    place, speed, angle, turn = state
    force = jnp.where(action == 1, 10.0, -10.0)
    push = (force + 0.05 * turn**2 * jnp.sin(angle)) / 1.1
    swing = (9.8 * jnp.sin(angle) - jnp.cos(angle) * push) / (0.5 * (4 / 3 - 0.1 * jnp.cos(angle) ** 2 / 1.1))
    drive = push - 0.05 * swing * jnp.cos(angle) / 1.1
    state = state + 0.02 * jnp.stack([speed, drive, turn, swing])
    fell = (jnp.abs(state[0]) > 2.4) | (jnp.abs(state[2]) > 0.21)
    return jnp.where(fell, reset(key), state), 1.0, fell


def network(params, state):
    hidden = jnp.tanh(state @ params["in"] + params["bias"])
    return hidden @ params["policy"], (hidden @ params["value"])[..., 0]


def rollout(params, states, key):
    def step(states, key):
        action_key, reset_key = jax.random.split(key)
        logits, values = network(params, states)
        actions = jax.random.categorical(action_key, logits)
        chances = jnp.take_along_axis(jax.nn.log_softmax(logits), actions[:, None], 1)[:, 0]
        keys = jax.random.split(reset_key, ENVIRONMENTS)
        following, rewards, fell = jax.vmap(move)(states, actions, keys)
        return following, (states, actions, chances, values, rewards, fell)

    return jax.lax.scan(step, states, jax.random.split(key, STEPS))


def advantages_of(values, rewards, fell, last):
    def back(carry, now):
        advantage, following = carry
        value, reward, fell = now
        going = jnp.where(fell, 0.0, 1.0)
        error = reward + 0.99 * following * going - value
        advantage = error + 0.99 * 0.95 * going * advantage
        return (advantage, value), advantage

    return jax.lax.scan(back, (jnp.zeros_like(last), last), (values, rewards, fell), reverse=True)[1]


def loss_of(params, batch, advantages, returns):
    states, actions, old, _, _, _ = batch
    logits, values = network(params, states)
    chances = jax.nn.log_softmax(logits)
    ratio = jnp.exp(jnp.take_along_axis(chances, actions[..., None], -1)[..., 0] - old)
    advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-6)
    gain = jnp.minimum(ratio * advantages, jnp.clip(ratio, 0.8, 1.2) * advantages).mean()
    entropy = -(jnp.exp(chances) * chances).sum(-1).mean()
    return -gain + 0.01 * ((values - returns) ** 2).mean() - 0.01 * entropy


def run():
    keys = jax.random.split(jax.random.key(0), 5)
    params = {
        "in": 0.5 * jax.random.normal(keys[0], (4, 16)),
        "bias": jnp.zeros(16),
        "policy": 0.1 * jax.random.normal(keys[1], (16, 2)),
        "value": 0.1 * jax.random.normal(keys[2], (16, 1)),
    }
    optimizer = optax.adam(3e-3)

    @jax.jit
    def iteration(carry, key):
        params, state, states = carry
        states, batch = rollout(params, states, key)
        _, _, _, values, rewards, fell = batch
        advantages = advantages_of(values, rewards, fell, network(params, states)[1])
        returns = advantages + values

        def update(carry, _):
            params, state = carry
            loss, gradient = jax.value_and_grad(loss_of)(params, batch, advantages, returns)
            updates, state = optimizer.update(gradient, state)
            return (optax.apply_updates(params, updates), state), loss

        (params, state), losses = jax.lax.scan(update, (params, state), None, 4)
        return (params, state, states), (losses, fell.sum(), returns)

    states = jax.vmap(reset)(jax.random.split(keys[3], ENVIRONMENTS))
    carry = (params, optimizer.init(params), states)
    losses, falls = [], []
    for key in jax.random.split(keys[4], 3):
        carry, (loss, fell, returns) = iteration(carry, key)
        losses.append(loss)
        falls.append(fell)
    return {"losses": np.array(losses), "falls": np.array(falls), "returns": np.asarray(returns)}
