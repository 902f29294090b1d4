"""Equations, integrals, transforms and filters."""

import jax
import jax.numpy as jnp
from jax import lax, random

from programs import KEY, program


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


@program("lineax")
def lineax_least_squares():
    import lineax

    matrices = random.normal(KEY, (100, 20, 5))

    def solve(matrix, right):
        return lineax.linear_solve(lineax.MatrixLinearOperator(matrix), right, lineax.QR()).value

    return jax.vmap(solve), (matrices, random.normal(random.PRNGKey(1), (100, 20)))


@program("s2fft", tolerance=1e-2)
def s2fft_transform():
    import s2fft

    coefficients = random.normal(KEY, (32, 63)) + 0j

    def there_and_back(coefficients):
        picture = s2fft.inverse_jax(coefficients, L=32)
        return s2fft.forward_jax(picture, L=32).real

    return there_and_back, (coefficients,)


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
