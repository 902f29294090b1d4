"""A graph network with attention over edges, by `segment_sum` and `segment_max`."""

import jax
import jax.numpy as jnp
import numpy as np
import optax

TOLERANCE = 1e-4

NODES, EDGES, WIDTH, CLASSES = 60, 240, 16, 3


def softmax_by_target(scores, targets):
    highest = jax.ops.segment_max(scores, targets, NODES)
    weights = jnp.exp(scores - highest[targets])
    return weights / jax.ops.segment_sum(weights, targets, NODES)[targets]


def layer(params, nodes, sources, targets):
    messages = nodes[sources] @ params["message"]
    scores = jax.nn.leaky_relu(jnp.concatenate([messages, nodes[targets]], -1) @ params["score"])
    weights = softmax_by_target(scores, targets)
    received = jax.ops.segment_sum(weights[:, None] * messages, targets, NODES)
    return jnp.tanh(nodes @ params["own"] + received)


def run():
    keys = jax.random.split(jax.random.key(0), 12)
    labels = jax.random.randint(keys[0], (NODES,), 0, CLASSES)
    sources = jax.random.randint(keys[1], (EDGES,), 0, NODES)
    # Most edges stay within a class.
    targets = jnp.where(
        jax.random.bernoulli(keys[2], 0.8, (EDGES,)),
        jnp.argsort(labels, stable=True)[(jnp.searchsorted(jnp.sort(labels), labels[sources]) + sources) % NODES],
        jax.random.randint(keys[3], (EDGES,), 0, NODES),
    )
    features = jax.random.normal(keys[4], (NODES, WIDTH)) + jax.nn.one_hot(labels, WIDTH)
    glorot = jax.nn.initializers.glorot_normal()
    params = {
        "layers": [
            {
                "message": glorot(keys[5 + 3 * i], (WIDTH, WIDTH)),
                "own": glorot(keys[6 + 3 * i], (WIDTH, WIDTH)),
                "score": 0.1 * jax.random.normal(keys[7 + 3 * i], (2 * WIDTH,)),
            }
            for i in range(2)
        ],
        "out": glorot(keys[11], (WIDTH, CLASSES)),
    }

    def logits_of(params):
        nodes = features
        for layer_params in params["layers"]:
            nodes = layer(layer_params, nodes, sources, targets)
        return nodes @ params["out"]

    def loss_of(params):
        return optax.softmax_cross_entropy_with_integer_labels(logits_of(params), labels).mean()

    optimizer = optax.adam(1e-2)

    @jax.jit
    def step(params, state):
        loss, gradient = jax.value_and_grad(loss_of)(params)
        updates, state = optimizer.update(gradient, state)
        return optax.apply_updates(params, updates), state, loss

    state, losses = optimizer.init(params), []
    for _ in range(40):
        params, state, loss = step(params, state)
        losses.append(loss)
    return {"losses": np.array(losses), "logits": np.asarray(jax.jit(logits_of)(params))}
