"""Programs of libraries on JAX, for `libraries.py`, which runs them in processes: `--list`, or the name of one."""

import importlib.util
import json
import os
import sys
import time
import warnings

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, random

if "RXLA_AS_CPU" in os.environ:
    # An environment with its own packages need not have this one installed for JAX to find it.
    import jax_rxla

    jax_rxla.initialize()

PROGRAMS = {}


def program(*libraries: str, tolerance: float = 1e-3, traced: bool = True):
    """A function that gives what to run and its arguments. What is not traced as a whole calls JAX by itself."""

    def add(make):
        PROGRAMS[make.__name__] = {"make": make, "libraries": libraries, "tolerance": tolerance, "traced": traced}
        return make

    return add


KEY = random.PRNGKey(0)


@program("numpyro", tolerance=0.2, traced=False)
def numpyro_eight_schools():
    import numpyro
    import numpyro.distributions as dist
    from numpyro.infer import MCMC, NUTS

    effects, errors = np.array([28.0, 8, -3, 7, -1, 1, 18, 12]), np.array([15.0, 10, 16, 11, 9, 11, 10, 18])

    def model():
        mean, spread = numpyro.sample("mean", dist.Normal(0, 5)), numpyro.sample("spread", dist.HalfCauchy(5))
        with numpyro.plate("schools", 8):
            own = numpyro.sample("own", dist.Normal(0, 1))
        numpyro.sample("seen", dist.Normal(mean + spread * own, errors), obs=effects)

    def run():
        chain = MCMC(NUTS(model), num_warmup=500, num_samples=1000, progress_bar=False)
        chain.run(KEY)
        return chain.get_samples()["mean"].mean()

    return run, ()


@program("numpyro", traced=False)
def numpyro_variational():
    import numpyro
    import numpyro.distributions as dist
    from numpyro.infer import SVI, Trace_ELBO
    from numpyro.infer.autoguide import AutoMultivariateNormal

    x = random.normal(KEY, (200, 5))
    y = x @ jnp.arange(5.0) + random.normal(random.PRNGKey(3), (200,))

    def model(x, y):
        weights = numpyro.sample("weights", dist.Normal(0, 1).expand([5]).to_event(1))
        numpyro.sample("seen", dist.Normal(x @ weights, numpyro.sample("noise", dist.HalfNormal(1))), obs=y)

    svi = SVI(model, AutoMultivariateNormal(model), numpyro.optim.Adam(0.01), Trace_ELBO())
    return lambda: svi.run(KEY, 500, x, y, progress_bar=False).losses[-1], ()


@program("blackjax", tolerance=0.2, traced=False)
def blackjax_nuts():
    import blackjax

    def log_density(x):
        return -0.5 * jnp.sum((x - 1.0) ** 2 / jnp.array([1.0, 2.0, 3.0, 0.5]))

    def run():
        (state, found), _ = blackjax.window_adaptation(blackjax.nuts, log_density).run(KEY, jnp.zeros(4), 500)
        step = blackjax.nuts(log_density, **found).step

        def body(state, key):
            state, _ = step(key, state)
            return state, state.position

        return jax.jit(lambda state, keys: lax.scan(body, state, keys)[1].mean(0))(state, random.split(KEY, 2000))

    return run, ()


PENDULUM = """<mujoco><worldbody><geom type="plane" size="5 5 .1"/><body pos="0 0 1"><joint type="hinge" axis="0 1 0"/>
<geom type="capsule" fromto="0 0 0 .5 0 0" size=".05"/><body pos=".5 0 0"><joint type="hinge" axis="0 1 0"/>
<geom type="capsule" fromto="0 0 0 .5 0 0" size=".05"/></body></body><body pos="0 1 .5"><freejoint/>
<geom type="sphere" size=".1"/></body></worldbody></mujoco>"""


@program("mujoco", "mujoco.mjx")
def mjx_pendulum():
    import mujoco
    from mujoco import mjx

    model = mujoco.MjModel.from_xml_string(PENDULUM)
    model = mjx.put_model(model)
    data = mjx.make_data(model)

    def body(data, _):
        data = mjx.step(model, data)
        return data, data.qpos

    def roll(places):
        return lax.scan(body, data.replace(qpos=places), None, length=20)[1]

    return jax.vmap(roll), (jnp.tile(data.qpos, (64, 1)) + 0.01 * jnp.arange(64)[:, None],)


@program("brax")
def brax_ant():
    from brax import envs

    environment = envs.create("ant", backend="spring", auto_reset=True)
    state = jax.jit(jax.vmap(environment.reset))(random.split(KEY, 16))

    def body(state, key):
        action = random.uniform(key, (16, environment.action_size), minval=-1, maxval=1)
        state = jax.vmap(environment.step)(state, action)
        return state, state.reward.mean()

    return lambda state, keys: lax.scan(body, state, keys)[1], (state, random.split(KEY, 10))


@program("pgx")
def pgx_chess():
    import pgx

    environment = pgx.make("chess")

    def body(state, key):
        moves = jnp.where(state.legal_action_mask, 0.0, -1e9)
        return environment.step(state, random.categorical(key, moves)), None

    def play(key):
        state, _ = lax.scan(body, environment.init(key), random.split(key, 10))
        return state.observation.sum()

    return jax.vmap(play), (random.split(KEY, 4),)


@program("gymnax")
def gymnax_cartpole():
    import gymnax

    environment, settings = gymnax.make("CartPole-v1")

    def body(state, key):
        action = random.randint(key, (), 0, 2)
        _, state, reward, *_ = environment.step(key, state, action, settings)
        return state, reward

    def play(key):
        _, state = environment.reset(key, settings)
        return lax.scan(body, state, random.split(key, 200))[1].sum()

    return jax.vmap(play), (random.split(KEY, 256),)


@program("jax_md")
def jax_md_lennard_jones():
    from jax_md import energy, simulate, space

    displacement, shift = space.periodic(np.float32(16.0))
    start, step = simulate.nve(energy.lennard_jones_pair(displacement), shift, 1e-3)
    grid = jnp.stack(jnp.meshgrid(jnp.arange(16.0), jnp.arange(16.0)), -1).reshape(-1, 2)
    state = start(KEY, grid, kT=0.1)
    return lambda state: lax.fori_loop(0, 100, lambda _, state: step(state), state).position.std(), (state,)


@program("ott")
def ott_sinkhorn():
    from ott.geometry import pointcloud
    from ott.solvers import linear

    x, y = random.normal(KEY, (300, 3)), random.normal(random.PRNGKey(1), (400, 3)) + 1

    def cost(x, y):
        return linear.solve(pointcloud.PointCloud(x, y, epsilon=0.1)).reg_ot_cost

    return jax.value_and_grad(cost), (x, y)


@program("jaxopt")
def jaxopt_quadratic_program():
    import jaxopt

    a = random.normal(KEY, (20, 20))
    solver = jaxopt.BoxOSQP()

    def solve(c):
        bounds = (-jnp.ones(20), jnp.zeros(20))
        problem = {"params_obj": (a @ a.T + jnp.eye(20), c), "params_eq": jnp.eye(20), "params_ineq": bounds}
        return solver.run(**problem).params.primal[0]

    return solve, (jnp.ones(20),)


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


@program("tinygp")
def tinygp_quasiseparable():
    import tinygp

    x = jnp.sort(random.uniform(KEY, (2000,))) * 10

    def likelihood(p):
        kernel = tinygp.kernels.quasisep.Matern52(jnp.exp(p[1]), sigma=jnp.exp(p[0]))
        process = tinygp.GaussianProcess(kernel, x, diag=0.01, assume_sorted=True)
        return -process.log_probability(jnp.sin(x))

    return jax.value_and_grad(likelihood), (jnp.array([0.0, 0.5]),)


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


@program("diffrax")
def diffrax_stiff():
    import diffrax

    def robertson(_, y, __):
        first, second = -0.04 * y[0] + 1e4 * y[1] * y[2], 3e7 * y[1] ** 2
        return jnp.array([first, -first - second, second])

    def solve(y):
        return diffrax.diffeqsolve(
            diffrax.ODETerm(robertson), diffrax.Kvaerno5(), 0.0, 100.0, 1e-4, y,
            stepsize_controller=diffrax.PIDController(rtol=1e-5, atol=1e-7),
        ).ys[0]

    return solve, (jnp.array([1.0, 0.0, 0.0]),)


@program("diffrax")
def diffrax_noise():
    import diffrax

    def solve(key):
        noise = diffrax.VirtualBrownianTree(0.0, 1.0, 1e-3, (2,), key)
        drift = diffrax.ODETerm(lambda t, y, _: -y)
        terms = diffrax.MultiTerm(drift, diffrax.ControlTerm(lambda t, y, _: jnp.eye(2) * 0.3, noise))
        return diffrax.diffeqsolve(terms, diffrax.Heun(), 0.0, 1.0, 0.01, jnp.ones(2)).ys

    return jax.vmap(solve), (random.split(KEY, 32),)


@program("optimistix")
def optimistix_roots():
    import optimistix

    def root(a):
        def f(y, _):
            return jnp.array([y[0] ** 2 + y[1] ** 2 - a, y[0] - y[1]])

        return optimistix.root_find(f, optimistix.Newton(rtol=1e-6, atol=1e-6), jnp.array([1.0, 0.5])).value.sum()

    return jax.vmap(jax.value_and_grad(root)), (jnp.linspace(1, 4, 64),)


@program("jax_cosmo")
def jax_cosmo_power():
    import jax_cosmo

    def power(matter):
        cosmology = jax_cosmo.Planck15(Omega_c=matter)
        return jax_cosmo.power.nonlinear_matter_power(cosmology, jnp.logspace(-3, 1, 64)).sum()

    return jax.value_and_grad(power), (jnp.float32(0.25),)


@program("pennylane")
def pennylane_circuit():
    import pennylane as qml

    @qml.qnode(qml.device("default.qubit", wires=4), interface="jax")
    def circuit(p):
        for wire in range(4):
            qml.RY(p[wire], wires=wire)
        for wire in range(3):
            qml.CNOT(wires=[wire, wire + 1])
        for wire in range(4):
            qml.RX(p[wire] * p[4 + wire], wires=wire)
        return qml.expval(qml.PauliZ(0) @ qml.PauliX(1))

    return jax.value_and_grad(circuit), (jnp.arange(8.0) / 8,)


@program("evosax")
def evosax_evolution():
    from evosax.algorithms import Sep_CMA_ES

    strategy = Sep_CMA_ES(population_size=64, solution=jnp.zeros(10))
    params = strategy.default_params

    def run(key):
        state = strategy.init(key, jnp.ones(10), params)

        def generation(state, key):
            ask, tell = random.split(key)
            population, state = strategy.ask(ask, state, params)
            values = (100 * (population[:, 1:] - population[:, :-1] ** 2) ** 2 + (1 - population[:, :-1]) ** 2).sum(1)
            state, _ = strategy.tell(tell, population, values, state, params)
            return state, values.min()

        return lax.scan(generation, state, random.split(key, 10))[1]

    return run, (KEY,)


@program("jax_cfd")
def jax_cfd_kolmogorov():
    import jax_cfd.base as cfd

    grid = cfd.grids.Grid((128, 128), domain=((0, 2 * jnp.pi), (0, 2 * jnp.pi)))
    velocity = cfd.initial_conditions.filtered_velocity_field(KEY, grid, maximum_velocity=5.0, peak_wavenumber=4)
    step = cfd.equations.semi_implicit_navier_stokes(
        density=1.0, viscosity=1e-3, dt=2e-3, grid=grid,
        forcing=cfd.forcings.kolmogorov_forcing(grid=grid, scale=1.0, k=4))
    return cfd.funcutils.repeated(step, 20), (velocity,)


@program("jaxley", tolerance=1e-2)
def jaxley_neuron():
    import jaxley
    from jaxley.channels import HH

    cell = jaxley.Cell(jaxley.Branch(jaxley.Compartment(), ncomp=4), parents=[-1, 0, 0, 1, 1])
    cell.insert(HH())
    cell.branch(0).loc(0.0).record()
    current = jaxley.step_current(i_delay=1.0, i_dur=1.0, i_amp=0.1, delta_t=0.025, t_max=5.0)

    def voltages(scale):
        stimuli = cell.branch(0).loc(0.0).data_stimulate(current * scale)
        return jaxley.integrate(cell, data_stimuli=stimuli)

    return voltages, (jnp.float32(1.0),)


@program("jaxoplanet")
def jaxoplanet_light_curve():
    from jaxoplanet.light_curves import limb_dark_light_curve
    from jaxoplanet.orbits.keplerian import Central, System

    times = jnp.linspace(-0.2, 0.2, 2000)

    def fit(parameters):
        radius, impact = parameters
        system = System(Central()).add_body(radius=radius, period=3.5, impact_param=impact)
        flux = limb_dark_light_curve(system, jnp.array([0.3, 0.2]))(times)
        return (flux**2).sum()

    return jax.value_and_grad(fit), (jnp.array([0.1, 0.3]),)


@program("jumanji")
def jumanji_puzzles():
    import jumanji

    game = jumanji.make("Game2048-v1")

    def play(key):
        state, first = game.reset(key)

        def step(carry, key):
            state, seen = carry
            action = random.categorical(key, jnp.where(seen.action_mask, 0.0, -1e9))
            state, seen = game.step(state, action)[0], game.step(state, action)[1].observation
            return (state, seen), state.score

        return lax.scan(step, (state, first.observation), random.split(key, 100))[1]

    return jax.vmap(play), (random.split(KEY, 64),)


@program("s2fft", tolerance=1e-2)
def s2fft_transform():
    import s2fft

    coefficients = random.normal(KEY, (32, 63)) + 0j

    def there_and_back(coefficients):
        picture = s2fft.inverse_jax(coefficients, L=32)
        return s2fft.forward_jax(picture, L=32).real

    return there_and_back, (coefficients,)


@program("lineax")
def lineax_least_squares():
    import lineax

    matrices = random.normal(KEY, (100, 20, 5))

    def solve(matrix, right):
        return lineax.linear_solve(lineax.MatrixLinearOperator(matrix), right, lineax.QR()).value

    return jax.vmap(solve), (matrices, random.normal(random.PRNGKey(1), (100, 20)))


@program("mctx")
def mctx_search():
    import mctx

    keys = random.split(KEY, 5)
    sizes = [(32, 32), (32, 8), (32, 1), (8, 32)]
    weights = [random.normal(key, size) * 0.3 for key, size in zip(keys, sizes)]

    def net(weights, state):
        hidden = jnp.tanh(state @ weights[0])
        return hidden, hidden @ weights[1], (hidden @ weights[2])[:, 0]

    def step(weights, _, action, state):
        state, logits, value = net(weights, state + jax.nn.one_hot(action, 8) @ weights[3])
        discount = jnp.full(len(state), 0.99)
        return mctx.RecurrentFnOutput(reward=state[:, 0], discount=discount, prior_logits=logits, value=value), state

    def search(weights, state):
        hidden, logits, value = net(weights, state)
        root = mctx.RootFnOutput(prior_logits=logits, value=value, embedding=hidden)
        return mctx.gumbel_muzero_policy(weights, KEY, root, step, num_simulations=32).action_weights

    return search, (weights, random.normal(keys[4], (64, 32)))


@program("flashbax")
def flashbax_buffer():
    import flashbax

    buffer = flashbax.make_trajectory_buffer(
        add_batch_size=16, sample_batch_size=64, sample_sequence_length=16, period=1, min_length_time_axis=16,
        max_length_time_axis=512,
    )
    state = buffer.init({"seen": jnp.zeros(12), "done": jnp.zeros((), jnp.int32)})
    state = buffer.add(state, {"seen": jnp.ones((16, 32, 12)), "done": jnp.ones((16, 32), jnp.int32)})

    def body(state, key):
        new = {"seen": random.normal(key, (16, 8, 12)), "done": random.randint(key, (16, 8), 0, 4)}
        state = buffer.add(state, new)
        return state, buffer.sample(state, key).experience["seen"].mean()

    return lambda state, keys: lax.scan(body, state, keys)[1], (state, random.split(KEY, 50))


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


@program("jaxlie")
def jaxlie_poses():
    import jaxlie

    def loss(a, b):
        pose = jaxlie.SE3.exp(a) @ jaxlie.SE3.exp(b).inverse()
        return (pose.log() ** 2).sum() + pose.apply(jnp.ones(3)).sum()

    return jax.vmap(jax.grad(loss)), tuple(random.normal(random.PRNGKey(seed), (5000, 6)) for seed in (0, 2))


@program("craftax")
def craftax_symbolic():
    from craftax.craftax_env import make_craftax_env_from_name

    environment = make_craftax_env_from_name("Craftax-Symbolic-v1", auto_reset=True)
    settings = environment.default_params

    def body(state, key):
        action = random.randint(key, (), 0, 17)
        seen, state, reward, *_ = environment.step(key, state, action, settings)
        return state, reward + seen.mean()

    def play(key):
        _, state = environment.reset(key, settings)
        return lax.scan(body, state, random.split(key, 20))[1]

    return jax.vmap(play), (random.split(KEY, 32),)


@program("gymnax", "optax", tolerance=0.2)
def gymnax_proximal_policy():
    """Proximal policy optimization, episodes and training as one program."""
    import gymnax
    import optax

    environment, settings = gymnax.make("CartPole-v1")
    sides, steps, updates, epochs, parts = 16, 64, 10, 4, 4
    sizes = {"a1": (4, 64), "a2": (64, 64), "a3": (64, 2), "v1": (4, 64), "v2": (64, 64), "v3": (64, 1)}
    start = {
        name: random.normal(key, size) / np.sqrt(size[0])
        for key, (name, size) in zip(random.split(KEY, len(sizes)), sizes.items())
    }
    optimizer = optax.chain(optax.clip_by_global_norm(0.5), optax.adam(2.5e-4))

    def net(p, seen):
        layers = lambda name: jnp.tanh(jnp.tanh(seen @ p[name + "1"]) @ p[name + "2"]) @ p[name + "3"]
        return jax.nn.log_softmax(layers("a")), layers("v")[..., 0]

    def taken(logits, action):
        return jnp.take_along_axis(logits, action[..., None], -1)[..., 0]

    def loss(p, part):
        seen, action, before, value, gain = part
        logits, new = net(p, seen)
        ratio = jnp.exp(taken(logits, action) - before)
        gain_ = (gain - gain.mean()) / (gain.std() + 1e-8)
        policy = -jnp.minimum(ratio * gain_, jnp.clip(ratio, 0.8, 1.2) * gain_).mean()
        return policy + 0.25 * ((new - gain - value) ** 2).mean() + 0.01 * (jnp.exp(logits) * logits).sum(-1).mean()

    def train(key):
        def act(p, state, key):
            seen, state = state
            logits, value = net(p, seen)
            action = random.categorical(key, logits)
            keys = random.split(key, sides)
            after, state, reward, done, *_ = jax.vmap(environment.step, (0, 0, 0, None))(keys, state, action, settings)
            return (after, state), (seen, action, taken(logits, action), value, reward, done)

        def descend(state, part):
            p, moments = state
            change, moments = optimizer.update(jax.grad(loss)(p, part), moments)
            return (optax.apply_updates(p, change), moments), None

        def update(state, key):
            p, moments, world = state
            world, episode = lax.scan(lambda world, key: act(p, world, key), world, random.split(key, steps))
            seen, action, logits, value, reward, done = episode

            def backwards(carry, step):
                gain, after = carry
                value, reward, done = step
                gain = reward + 0.99 * after * (1 - done) - value + 0.9405 * (1 - done) * gain
                return (gain, value), gain

            carry = (jnp.zeros(sides), net(p, world[0])[1])
            gains = lax.scan(backwards, carry, (value, reward, done), reverse=True)[1]

            def epoch(state, key):
                order = random.permutation(key, sides * steps)
                mix = lambda x: x.reshape(-1, *x.shape[2:])[order].reshape(parts, -1, *x.shape[2:])
                return lax.scan(descend, state, jax.tree.map(mix, (seen, action, logits, value, gains)))[0], None

            (p, moments), _ = lax.scan(epoch, (p, moments), random.split(key, epochs))
            return (p, moments, world), reward.mean()

        world = jax.vmap(environment.reset, (0, None))(random.split(key, sides), settings)
        return lax.scan(update, (start, optimizer.init(start), world), random.split(key, updates))[1]

    return train, (KEY,)


@program("gpjax", "optax", traced=False)
def gpjax_regression():
    jax.config.update("jax_enable_x64", True)
    import gpjax
    import optax

    x = jnp.linspace(-3, 3, 200)[:, None]
    data = gpjax.Dataset(X=x, y=jnp.sin(4 * x) + 0.1 * random.normal(KEY, x.shape))
    prior = gpjax.gps.Prior(mean_function=gpjax.mean_functions.Zero(), kernel=gpjax.kernels.RBF())
    model = prior * gpjax.likelihoods.Gaussian()
    loss = lambda model, data: -gpjax.objectives.conjugate_mll(model, data)

    def fit():
        optimizer = optax.adam(1e-2)
        found = gpjax.fit(
            model=model, objective=loss, train_data=data, optim=optimizer, num_iters=100, key=KEY, verbose=False
        )
        return found[1][-1]

    return fit, ()


@program("signax")
def signax_signature():
    import signax

    return jax.grad(lambda paths: signax.signature(paths, 4).sum()), (random.normal(KEY, (32, 100, 3)) * 0.1,)


@program("quadax")
def quadax_integrals():
    import quadax

    def integral(a):
        wave = lambda x: jnp.exp(-a * x) * jnp.sin(10 * x)
        return quadax.quadgk(wave, [0.0, 5.0], epsabs=1e-5, epsrel=1e-5)[0]

    return jax.vmap(integral), (jnp.linspace(0.1, 2, 200),)


@program("interpax")
def interpax_cubic():
    import interpax

    grid = jnp.linspace(0, 1, 100)
    loss = lambda y, at: interpax.interp2d(at, at[::-1], grid, grid, y, method="cubic").sum()
    return jax.value_and_grad(loss), (random.normal(KEY, (100, 100)), random.uniform(KEY, (20000,)))


@program("xminigrid")
def xminigrid_steps():
    import xminigrid

    environment, settings = xminigrid.make("XLand-MiniGrid-R4-9x9")

    def body(step, key):
        step = environment.step(settings, step, random.randint(key, (), 0, 6))
        return step, step.observation.sum() + step.reward

    def play(key):
        return lax.scan(body, environment.reset(settings, key), random.split(key, 50))[1]

    return jax.vmap(play), (random.split(KEY, 64),)


@program()
def jax_kalman_filter():
    n = 6
    step, seen = jnp.eye(n) * 0.9 + 0.05 * jnp.eye(n, k=1), jnp.eye(2, n)

    def body(carry, y):
        mean, spread = carry
        mean, spread = step @ mean, step @ spread @ step.T + 0.1 * jnp.eye(n)
        own = seen @ spread @ seen.T + 0.2 * jnp.eye(2)
        gain, rest = jnp.linalg.solve(own, seen @ spread).T, y - seen @ mean
        surprise = jnp.linalg.slogdet(own)[1] + rest @ jnp.linalg.solve(own, rest)
        return (mean + gain @ rest, spread - gain @ own @ gain.T), surprise

    def likelihood(scale):
        return lax.scan(body, (jnp.zeros(n), jnp.eye(n) * scale), random.normal(KEY, (300, 2)))[1].sum()

    return jax.value_and_grad(likelihood), (jnp.float32(1.0),)


@program()
def jax_associative_scan():
    steps = jax.nn.log_softmax(random.normal(KEY, (16, 16)))
    seen = random.normal(random.PRNGKey(1), (256, 16))

    def join(a, b):
        return jax.nn.logsumexp(a[..., :, :, None] + b[..., None, :, :], axis=-2)

    def likelihood(scale):
        return jax.nn.logsumexp(lax.associative_scan(join, steps * scale + seen[:, None, :])[-1])

    return jax.value_and_grad(likelihood), (jnp.float32(1.0),)


@program()
def jax_sparse():
    from jax.experimental import sparse

    dense = random.normal(KEY, (400, 400)) * (random.uniform(random.PRNGKey(1), (400, 400)) < 0.02)
    matrix = sparse.BCOO.fromdense(dense, nse=4000)
    return jax.value_and_grad(lambda x: (jnp.tanh(matrix @ x) ** 2).sum()), (jnp.ones((400, 8)),)


def is_missing(library: str) -> bool:
    try:
        return importlib.util.find_spec(library) is None
    except ModuleNotFoundError:
        return True


def main():
    warnings.filterwarnings("ignore")
    name = sys.argv[1]
    if name == "--list":
        listed = {
            name: {"tolerance": known["tolerance"], "missing": list(filter(is_missing, known["libraries"]))}
            for name, known in PROGRAMS.items()
        }
        return print(json.dumps(listed))
    known = PROGRAMS[name]
    run, arguments = known["make"]()
    run = jax.jit(run) if known["traced"] else run

    def once():
        begin = time.perf_counter()
        results = jax.block_until_ready(run(*arguments))
        return time.perf_counter() - begin, results

    first, results = once()
    fastest, begin = float("inf"), time.perf_counter()
    while fastest == float("inf") or time.perf_counter() - begin < 2:
        fastest = min(fastest, once()[0])
    leaves = [np.asarray(leaf, np.float64).ravel()[:1000].tolist() for leaf in jax.tree.leaves(results)]
    answer = {"first": first, "run": fastest, "results": leaves, "jax": jax.__version__}
    print(json.dumps(answer | {"platform": jax.devices()[0].client.platform_version}))


if __name__ == "__main__":
    main()
