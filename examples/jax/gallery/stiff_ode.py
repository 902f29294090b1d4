"""Robertson's stiff reactions with an implicit solver of Diffrax, in double precision, with a
gradient, and the roots and linear solves (Optimistix, Lineax) it stands on."""

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import lineax
import numpy as np
import optimistix

TOLERANCE = 1e-9


def reactions(t, y, rates):
    a, b, c = rates
    first = -a * y[0] + c * y[1] * y[2]
    last = b * y[1] ** 2
    return jnp.stack([first, -first - last, last])


@eqx.filter_jit
def solve(rates, times):
    return diffrax.diffeqsolve(
        diffrax.ODETerm(reactions),
        diffrax.Kvaerno5(),
        t0=0.0,
        t1=times[-1],
        dt0=2e-4,
        y0=jnp.array([1.0, 0.0, 0.0]),
        args=rates,
        saveat=diffrax.SaveAt(ts=times),
        stepsize_controller=diffrax.PIDController(rtol=1e-7, atol=1e-9),
        max_steps=512,
    )


def run():
    with jax.enable_x64(True):
        rates = jnp.array([0.04, 3e7, 1e4])
        times = jnp.array([0.0, 1e-3, 1e-1, 1.0, 10.0])
        solution = solve(rates, times)
        gradient = eqx.filter_jit(eqx.filter_grad(lambda rates: solve(rates, times[:3]).ys[-1, 1] * 1e5))(rates)
        rosenbrock = lambda y, _: jnp.stack([10 * (y[1] - y[0] ** 2), 1 - y[0]])
        root = optimistix.root_find(rosenbrock, optimistix.Newton(1e-10, 1e-10), jnp.array([-1.2, 1.0])).value
        fitted = optimistix.least_squares(
            rosenbrock, optimistix.LevenbergMarquardt(1e-8, 1e-8), jnp.array([-1.2, 1.0])
        ).value
        matrix = jax.random.normal(jax.random.key(0), (6, 4))
        operator = lineax.MatrixLinearOperator(matrix)
        least = lineax.linear_solve(operator, jnp.arange(6.0), solver=lineax.QR()).value
        return {
            "path": np.asarray(solution.ys),
            "gradient": np.asarray(gradient),
            "root": np.asarray(root),
            "fitted": np.asarray(fitted),
            "least squares": np.asarray(least),
        }
