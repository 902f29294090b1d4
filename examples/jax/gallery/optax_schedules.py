"""A perceptron for two moons under optimizers of Optax: schedules, clipping, decay, averages."""

import jax
import jax.numpy as jnp
import numpy as np
import optax

TOLERANCE = 1e-4

STEPS = 40


def moons(key, count):
    angle_key, noise_key = jax.random.split(key)
    angle = jax.random.uniform(angle_key, (count,), maxval=jnp.pi)
    label = jnp.arange(count) % 2
    sign = 1 - 2 * label
    points = jnp.stack([jnp.cos(angle) * sign + label, jnp.sin(angle) * sign + 0.5 * label], -1)
    return points + 0.1 * jax.random.normal(noise_key, points.shape), label.astype(jnp.float32)


def logits_of(params, x):
    for weights, bias in params[:-1]:
        x = jax.nn.silu(x @ weights + bias)
    weights, bias = params[-1]
    return (x @ weights + bias)[:, 0]


def optimizers():
    cosine = optax.warmup_cosine_decay_schedule(0, 3e-2, STEPS // 5, STEPS)
    decayed = optax.exponential_decay(5e-2, 10, 0.7, staircase=True)
    return {
        "adamw": optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(cosine, weight_decay=1e-3)),
        "sgd": optax.sgd(decayed, momentum=0.9, nesterov=True),
        "lion": optax.lion(optax.linear_schedule(1e-2, 1e-3, STEPS)),
        "accumulated": optax.MultiSteps(optax.adafactor(1e-1), every_k_schedule=2),
        "lookahead": optax.chain(optax.scale_by_rms(), optax.ema(0.9), optax.scale(-1e-2)),
    }


def run():
    x, y = moons(jax.random.key(0), 128)
    sizes = [2, 16, 16, 1]
    keys = jax.random.split(jax.random.key(1), 3)
    he = jax.nn.initializers.he_normal()
    start = [(he(k, (a, b)), jnp.zeros(b)) for k, a, b in zip(keys, sizes, sizes[1:])]

    def loss_of(params):
        return optax.sigmoid_binary_cross_entropy(logits_of(params, x), y).mean()

    results = {}
    for name, optimizer in optimizers().items():

        @jax.jit
        def train(params):
            def step(carry, _):
                params, state = carry
                loss, gradient = jax.value_and_grad(loss_of)(params)
                updates, state = optimizer.update(gradient, state, params)
                return (optax.apply_updates(params, updates), state), loss

            return jax.lax.scan(step, (params, optimizer.init(params)), None, STEPS)

        (params, _), losses = train(start)
        results[name] = np.asarray(losses)
        results[f"{name} logits"] = np.asarray(logits_of(params, x))
    return results
