"""Simulations: bodies, particles, fluids, neurons, stars, circuits."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, random

from programs import KEY, program

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


@program("jax_md")
def jax_md_lennard_jones():
    from jax_md import energy, simulate, space

    displacement, shift = space.periodic(np.float32(16.0))
    start, step = simulate.nve(energy.lennard_jones_pair(displacement), shift, 1e-3)
    grid = jnp.stack(jnp.meshgrid(jnp.arange(16.0), jnp.arange(16.0)), -1).reshape(-1, 2)
    state = start(KEY, grid, kT=0.1)
    return lambda state: lax.fori_loop(0, 100, lambda _, state: step(state), state).position.std(), (state,)


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


@program("jaxlie")
def jaxlie_poses():
    import jaxlie

    def loss(a, b):
        pose = jaxlie.SE3.exp(a) @ jaxlie.SE3.exp(b).inverse()
        return (pose.log() ** 2).sum() + pose.apply(jnp.ones(3)).sum()

    return jax.vmap(jax.grad(loss)), tuple(random.normal(random.PRNGKey(seed), (5000, 6)) for seed in (0, 2))
