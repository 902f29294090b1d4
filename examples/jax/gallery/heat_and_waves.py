"""Two equations on a grid: heat by a stencil in `fori_loop`, waves by `fft` in a `while_loop`."""

import jax
import jax.numpy as jnp
import numpy as np

TOLERANCE = 1e-4

SIZE = 48


@jax.jit
def heat(u):
    def step(_, u):
        ahead, behind = jnp.roll(u, 1, 0) + jnp.roll(u, -1, 0), jnp.roll(u, 1, 1) + jnp.roll(u, -1, 1)
        u = u + 0.2 * (ahead + behind - 4 * u)
        return u.at[0].set(0).at[-1].set(0).at[:, 0].set(1)

    return jax.lax.fori_loop(0, 100, step, u)


@jax.jit
def heat_by_convolution(u):
    stencil = jnp.array([[0, 1, 0], [1, -4, 1], [0, 1, 0]], jnp.float32)

    def step(u, _):
        u = u + 0.2 * jax.scipy.signal.convolve2d(u, stencil, mode="same")
        return u, jnp.abs(u).max()

    return jax.lax.scan(step, u, None, 40)


@jax.jit
def wave(u):
    """Exact steps of the wave equation in Fourier space until time 2."""
    frequency = jnp.sqrt(
        jnp.fft.fftfreq(SIZE, 1 / SIZE)[:, None] ** 2 + jnp.fft.rfftfreq(SIZE, 1 / SIZE)[None, :] ** 2
    )
    dt = 0.05
    turn = jnp.cos(frequency * dt)

    def step(carry):
        time, now, before = carry
        return time + dt, 2 * turn * now - before, now

    start = jnp.fft.rfft2(u)
    _, now, _ = jax.lax.while_loop(lambda carry: carry[0] < 2, step, (0.0, start, turn * start))
    return jnp.fft.irfft2(now, u.shape)


def run():
    x = jnp.linspace(-1, 1, SIZE)
    bump = jnp.exp(-20 * (x[:, None] ** 2 + (x[None, :] - 0.3) ** 2))
    gradient = jax.jit(jax.grad(lambda scale: heat_by_convolution(scale * bump)[0].sum()))(1.0)
    return {
        "heat": np.asarray(heat(bump)),
        "convolved": np.asarray(heat_by_convolution(bump)[0]),
        "wave": np.asarray(wave(bump)),
        "gradient": np.asarray(gradient),
    }
