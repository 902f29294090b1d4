"""Networks and what goes into them."""

import jax
import jax.numpy as jnp
from jax import random

from programs import KEY, program


@program("haiku", "optax")
def haiku_resnet18():
    import haiku as hk
    import optax

    net = hk.transform_with_state(lambda x: hk.nets.ResNet18(10)(x, is_training=True))
    x, y = random.normal(KEY, (8, 64, 64, 3)), jnp.arange(8)
    parameters, state = jax.jit(net.init)(random.PRNGKey(1), x)
    optimizer = optax.sgd(0.01, 0.9)

    def step(parameters, state, sums):
        def loss(parameters):
            logits, after = net.apply(parameters, state, None, x)
            return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean(), after

        (value, _), gradient = jax.value_and_grad(loss, has_aux=True)(parameters)
        updates, _ = optimizer.update(gradient, sums)
        return value, optax.global_norm(optax.apply_updates(parameters, updates))

    return step, (parameters, state, optimizer.init(parameters))


@program("flax", "optax", traced=False)
def flax_nnx_cnn():
    import optax
    from flax import nnx

    class Net(nnx.Module):
        def __init__(self, rngs):
            self.first, self.norm = nnx.Conv(1, 16, (3, 3), rngs=rngs), nnx.BatchNorm(16, rngs=rngs)
            self.second, self.last = nnx.Conv(16, 32, (3, 3), rngs=rngs), nnx.Linear(7 * 7 * 32, 10, rngs=rngs)

        def __call__(self, x):
            x = nnx.avg_pool(nnx.relu(self.norm(self.first(x))), (2, 2), (2, 2))
            x = nnx.max_pool(nnx.relu(self.second(x)), (2, 2), (2, 2))
            return self.last(x.reshape(len(x), -1))

    x, y = random.normal(KEY, (32, 28, 28, 1)), jnp.arange(32) % 10

    @nnx.jit
    def step(model, optimizer):
        def loss(model):
            return optax.softmax_cross_entropy_with_integer_labels(model(x), y).mean()

        value, gradient = nnx.value_and_grad(loss)(model)
        optimizer.update(model, gradient)
        return value

    def run():
        model = Net(nnx.Rngs(0))
        optimizer = nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)
        return jnp.stack([step(model, optimizer) for _ in range(5)])

    return run, ()


@program("jraph", "haiku")
def jraph_network():
    import haiku as hk
    import jraph

    keys = random.split(KEY, 4)
    graph = jraph.GraphsTuple(
        nodes=random.normal(keys[0], (200, 16)), edges=random.normal(keys[1], (1000, 8)),
        senders=random.randint(keys[2], (1000,), 0, 200), receivers=random.randint(keys[3], (1000,), 0, 200),
        n_node=jnp.array([200]), n_edge=jnp.array([1000]), globals=jnp.ones((1, 4)),
    )

    def net(graph):
        def layer(width, *sizes):
            return lambda *parts: hk.nets.MLP([*sizes, width])(jnp.concatenate(parts, -1))

        for _ in range(3):
            graph = jraph.GraphNetwork(layer(8, 32), layer(16, 32), layer(4))(graph)
        return jnp.tanh(graph.globals / 1e4).sum()

    net = hk.without_apply_rng(hk.transform(net))
    return jax.value_and_grad(lambda p: net.apply(p, graph)), (net.init(KEY, graph),)


@program("e3nn_jax")
def e3nn_tensor_product():
    import e3nn_jax as e3nn

    x = e3nn.normal("16x0e+16x1o+8x2e", KEY, (128,))

    def square(array):
        return (e3nn.tensor_product(e3nn.IrrepsArray(x.irreps, array), x).array ** 2).mean()

    return jax.value_and_grad(square), (x.array,)


def flow_loss(flow):
    import equinox as eqx

    parameters, rest = eqx.partition(flow, eqx.is_inexact_array)
    loss = lambda parameters, x: -eqx.combine(parameters, rest).log_prob(x).mean()
    return jax.value_and_grad(loss), (parameters, random.normal(KEY, (512, 6)))


@program("flowjax")
def flowjax_autoregressive():
    from flowjax.distributions import Normal
    from flowjax.flows import masked_autoregressive_flow

    return flow_loss(masked_autoregressive_flow(KEY, base_dist=Normal(jnp.zeros(6)), nn_width=40, flow_layers=4))


@program("flowjax")
def flowjax_splines():
    from flowjax.bijections import RationalQuadraticSpline
    from flowjax.distributions import Normal
    from flowjax.flows import coupling_flow

    spline = RationalQuadraticSpline(knots=8, interval=4)
    return flow_loss(coupling_flow(KEY, base_dist=Normal(jnp.zeros(6)), transformer=spline, flow_layers=4))


@program("dm_pix")
def pix_augmentation():
    import dm_pix as pix

    def change(image, key):
        image = pix.random_hue(key, pix.random_brightness(key, image, 0.2), 0.1)
        image = pix.rotate(pix.gaussian_blur(image, 2.0, 9.0), 0.3, order=1)
        image = pix.elastic_deformation(key, image, 10.0, 5.0)
        return pix.adjust_gamma(jnp.clip(image, 0.01, 1), 1.1)

    return jax.vmap(change), (random.uniform(KEY, (8, 64, 64, 3)), random.split(KEY, 8))
