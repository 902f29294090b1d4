"""Loops: what a step costs, with bodies from one addition to a network's cell."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental.ode import odeint

from workloads import integers, normal, uniform, workload


@workload("loops")
def while_scalar_over_array():
    def program(x):
        def body(state):
            i, total = state
            return i + 1, total + x[i] * x[i]

        return lax.while_loop(lambda s: s[0] < x.shape[0], body, (jnp.int32(0), jnp.float32(0)))[1]

    return program, [normal(10000)]


@workload("loops")
def fori_scalar_maths():
    def program(x):
        def body(i, x):
            return jnp.sin(x) * np.float32(0.9) + jnp.exp(-x * x) + np.float32(0.01)

        return lax.fori_loop(0, 10000, body, x)

    return program, [np.float32(0.5)]


@workload("loops")
def scan_3x3_f64_carry():
    def program(m, xs):
        def body(state, x):
            a, b = state
            a = a @ b + x * np.eye(3)
            a = a / (1 + jnp.abs(a).sum())
            return (a, b), jnp.trace(a)

        (a, _), ys = lax.scan(body, (m, m.T), xs)
        return a, ys

    return program, [normal(3, 3, dtype=np.float64), normal(1000, dtype=np.float64)]


def _sixty(carry, x):
    carry = list(carry)
    new = []
    for i in range(60):
        left, right = carry[i - 1], carry[(i + 1) % 60]
        new.append(np.float32(0.5) * carry[i] + np.float32(0.25) * (left - right) + x * np.float32(0.01 * i))
    return tuple(new), new[0] * new[30]


@workload("loops")
def scan_60_scalars():
    def program(start, xs):
        final, ys = lax.scan(_sixty, tuple(start[i] for i in range(60)), xs)
        return jnp.stack(final), ys

    return program, [normal(60), normal(500)]


@workload("loops", tolerance=1e-3)
def scan_60_scalars_grad():
    def loss(start, xs):
        final, ys = lax.scan(_sixty, tuple(start[i] for i in range(60)), xs)
        return ys.sum() + sum(x * x for x in final)

    return jax.grad(loss, argnums=(0, 1)), [normal(60), normal(500)]


def _lstm(params, xs, h, c):
    wx, wh, b = params

    def cell(state, x):
        h, c = state
        i, f, g, o = jnp.split(x @ wx + h @ wh + b, 4, axis=-1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    return lax.scan(cell, (h, c), xs)[1]


def _gru(params, xs, h):
    wx, wh, b = params

    def cell(h, x):
        xr, xz, xn = jnp.split(x @ wx + b, 3, axis=-1)
        hr, hz, hn = jnp.split(h @ wh, 3, axis=-1)
        r, z = jax.nn.sigmoid(xr + hr), jax.nn.sigmoid(xz + hz)
        n = jnp.tanh(xn + r * hn)
        h = (1 - z) * n + z * h
        return h, h

    return lax.scan(cell, h, xs)[1]


def _recurrent(gates, steps=64, batch=4, size=32):
    scale = np.float32(0.2)
    return [
        scale * normal(size, gates * size), scale * normal(size, gates * size, seed=1), normal(gates * size),
        normal(steps, batch, size), np.zeros((batch, size), np.float32),
    ]


@workload("loops")
def scan_lstm():
    return lambda wx, wh, b, xs, h: _lstm((wx, wh, b), xs, h, h), _recurrent(4)


@workload("loops", tolerance=1e-3)
def scan_lstm_grad():
    def loss(wx, wh, b, xs, h):
        return (_lstm((wx, wh, b), xs, h, h) ** 2).sum()

    return jax.grad(loss, argnums=(0, 1, 2, 3)), _recurrent(4)


@workload("loops")
def scan_lstm_large():
    return lambda wx, wh, b, xs, h: _lstm((wx, wh, b), xs, h, h), _recurrent(4, batch=16, size=128)


@workload("loops", tolerance=1e-3)
def scan_lstm_grad_one():
    """One sequence alone: the gradients of weights are sums of outer products."""

    def loss(wx, wh, b, xs, h):
        return (_lstm((wx, wh, b), xs, h, h) ** 2).sum()

    return jax.grad(loss, argnums=(0, 1, 2, 3)), _recurrent(4, batch=1, size=256)


@workload("loops")
def scan_gru():
    return lambda wx, wh, b, xs, h: _gru((wx, wh, b), xs, h), _recurrent(3)


@workload("loops", tolerance=1e-3)
def scan_gru_grad():
    def loss(wx, wh, b, xs, h):
        return (_gru((wx, wh, b), xs, h) ** 2).sum()

    return jax.grad(loss, argnums=(0, 1, 2, 3)), _recurrent(3)


def _lorenz(y):
    a, b, c = y[..., 0], y[..., 1], y[..., 2]
    return jnp.stack([10 * (b - a), a * (28 - c) - b, a * b - (8.0 / 3.0) * c], axis=-1)


def _lorenz_by_rk4(h, steps):
    def step(_, y):
        k1 = _lorenz(y)
        k2 = _lorenz(y + h / 2 * k1)
        k3 = _lorenz(y + h / 2 * k2)
        k4 = _lorenz(y + h * k3)
        return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

    return lambda y: lax.fori_loop(0, steps, step, y)


@workload("loops")
def ode_rk4_lorenz():
    return _lorenz_by_rk4(np.float64(0.001), 1000), [np.array([1.0, 1.0, 1.0])]


@workload("loops", tolerance=1e-3)
def ode_rk4_lorenz_vmap():
    """A thousand systems side by side, 200 steps."""
    return jax.vmap(_lorenz_by_rk4(np.float32(0.005), 200)), [1 + np.float32(0.1) * normal(1000, 3)]


@workload("loops", tolerance=1e-2)
def pendulum_rollouts():
    """What 2000 pendulums under a torque do in 200 steps, and what it costs. Those that come to stand upside down fall to
    the side that rounding says."""
    def program(state, torques):
        def step(state, torque):
            angle, speed = state
            cost = angle * angle + np.float32(0.1) * speed * speed
            speed = speed + np.float32(0.05) * (np.float32(9.8) * jnp.sin(angle) + torque)
            return (angle + np.float32(0.05) * speed, speed), cost

        return lax.scan(step, (state[0], state[1]), torques)[1]

    args = [np.float32(0.1) * normal(2000, 2), np.float32(0.1) * normal(2000, 200)]
    return jax.vmap(program), args


@workload("loops", tolerance=1e-2)
def odeint_vmap():
    """A thousand oscillators of van der Pol's, each with steps of its own. Rounding decides whether a step is taken, and
    what follows differs by what the tolerance lets pass."""
    def solve(y, stiffness):
        def field(y, t):
            return jnp.stack([y[1], stiffness * (1 - y[0] ** 2) * y[1] - y[0]])

        times = jnp.linspace(0, 5, 20).astype(np.float32)
        return odeint(field, y, times, rtol=1e-4, atol=1e-4)

    return jax.vmap(solve), [normal(1000, 2), uniform(1000, low=0.1, high=3.0)]


@workload("loops", tolerance=1e-3)
def mandelbrot_vmap():
    """How often each of 256 times 256 points is squared before it is gone, at most 200 times: the mean, since points
    on the border hang on the last bit."""
    def count(x, y):
        def body(state):
            a, b, n = state
            return a * a - b * b + x, 2 * a * b + y, n + 1

        start = (np.float32(0), np.float32(0), jnp.int32(0))
        return lax.while_loop(lambda s: (s[0] ** 2 + s[1] ** 2 < 4) & (s[2] < 200), body, start)[2]

    side = np.linspace(-2, 1, 256, dtype=np.float32)
    counts = jax.vmap(jax.vmap(count, (0, None)), (None, 0))
    return lambda x, y: counts(x, y).mean(), [side, side]


@workload("loops", tolerance=1e-4)
def projectiles_vmap():
    """Where 4096 things that are thrown come down."""
    def fly(speed):
        def body(state):
            place, speed = state
            pull = np.array([0, -9.8], np.float32) - np.float32(0.1) * speed * jnp.linalg.norm(speed)
            return place + np.float32(0.01) * speed, speed + np.float32(0.01) * pull

        return lax.while_loop(lambda s: s[0][1] >= 0, body, (jnp.zeros(2, jnp.float32), speed))[0]

    return jax.vmap(fly), [uniform(4096, 2, low=1.0, high=20.0)]


@workload("loops", tolerance=1e-4)
def growths_recorded_vmap():
    """1000 values that grow until they are large, each with all that it has been."""
    def grow(start):
        def body(state):
            step, x, record = state
            return step + 1, x * np.float32(1.02) + np.float32(0.01) * jnp.sin(x), record.at[step].set(x)

        go_on = lambda state: (state[0] < 200) & (jnp.abs(state[1]) < 3)
        return lax.while_loop(go_on, body, (jnp.int32(0), start, jnp.zeros(200, jnp.float32)))[2]

    return jax.vmap(grow), [uniform(1000, low=0.2, high=2.0)]


@workload("loops")
def insertion_sort_vmap():
    """256 rows of 64 numbers sorted by hand: a while within a loop, which moves one number after the other."""
    def sort(x):
        def insert(i, x):
            value = x[i]
            smaller = lambda state: (state[0] > 0) & (state[1][jnp.maximum(state[0] - 1, 0)] > value)
            move = lambda state: (state[0] - 1, state[1].at[state[0]].set(state[1][state[0] - 1]))
            place, x = lax.while_loop(smaller, move, (i, x))
            return x.at[place].set(value)

        return lax.fori_loop(1, x.shape[0], insert, x)

    return jax.vmap(sort), [normal(256, 64)]


@workload("loops")
def kept_in_scan():
    """What is above zero of 2000 numbers, put one after the other into an array."""
    def program(x):
        def body(state, value):
            array, count = state
            keep = value > 0
            return (jnp.where(keep, array.at[count].set(value), array), count + keep), None

        return lax.scan(body, (jnp.zeros(4096, jnp.float32), jnp.int32(0)), x)[0]

    return program, [normal(2000)]


@workload("loops")
def heap_pushes():
    """200 numbers put into a heap one after the other, each of which rises to its place."""
    def program(x):
        def push(state, value):
            heap, count = state

            def rise(state):
                heap, at = state
                above = (at - 1) // 2
                return heap.at[at].set(heap[above]).at[above].set(heap[at]), above

            rises = lambda state: (state[1] > 0) & (state[0][(state[1] - 1) // 2] > state[0][state[1]])
            heap, _ = lax.while_loop(rises, rise, (heap.at[count].set(value), count))
            return (heap, count + 1), None

        return lax.scan(push, (jnp.zeros(65536, jnp.float32), jnp.int32(0)), x)[0][0]

    return program, [normal(200)]


@workload("loops")
def remembered_by_cond():
    """200 numbers computed if they are not yet in a table, and put there."""
    def program(x):
        def look(state, value):
            table, total = state
            place = (jnp.abs(value) * 50).astype(jnp.int32)
            new = lambda table: (table.at[place].set(jnp.sqrt(jnp.abs(value))), jnp.sqrt(jnp.abs(value)))
            table, found = lax.cond(table[place] > 0, lambda table: (table, table[place]), new, table)
            return (table, total + found), None

        return lax.scan(look, (jnp.zeros(65536, jnp.float32), jnp.float32(0)), x)[0]

    return program, [normal(200)]


@workload("loops", tolerance=1e-4)
def ode_rk45_lorenz():
    """Dormand-Prince with a step that adapts: a while whose body is a hundred small operations."""
    table = [
        [], [1 / 5], [3 / 40, 9 / 40], [44 / 45, -56 / 15, 32 / 9],
        [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729],
        [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656],
        [35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84],
    ]
    error = [71 / 57600, 0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40]

    def program(y):
        def body(state):
            t, y, h = state
            ks = []
            for row in table:
                ks.append(_lorenz(y + h * sum((c * k for c, k in zip(row, ks)), jnp.zeros_like(y))))
            new = y + h * sum(c * k for c, k in zip(table[-1], ks))
            size = jnp.sqrt(jnp.mean((h * sum(c * k for c, k in zip(error, ks)) / (1e-6 + 1e-6 * jnp.abs(y))) ** 2))
            good = size <= 1
            factor = jnp.clip(0.9 * (size + 1e-12) ** -0.2, 0.2, 5.0)
            return jnp.where(good, t + h, t), jnp.where(good, new, y), h * factor

        return lax.while_loop(lambda s: s[0] < 2.0, body, (jnp.float64(0), y, jnp.float64(0.01)))[1]

    return program, [np.array([1.0, 1.0, 1.0])]


@workload("loops")
def newton_under_vmap():
    def root(a):
        def body(state):
            x, _, i = state
            new = x - (x**3 - a) / (3 * x**2)
            return new, jnp.abs(new - x), i + 1

        start = (a, jnp.float32(1), jnp.int32(0))
        return lax.while_loop(lambda s: (s[1] > 1e-5) & (s[2] < 50), body, start)[0]

    return jax.vmap(root), [uniform(1024, low=1.0, high=50.0)]


@workload("loops")
def jacobi_stencil():
    def program(x):
        def step(_, x):
            inner = np.float32(0.25) * (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:])
            return x.at[1:-1, 1:-1].set(inner)

        return lax.fori_loop(0, 50, step, x)

    return program, [uniform(128, 128)]


@workload("loops")
def wave_leapfrog():
    """Two arrays that take turns."""

    def program(now, before):
        def step(_, state):
            now, before = state
            curvature = jnp.roll(now, 1) + jnp.roll(now, -1) - np.float32(2) * now
            return np.float32(2) * now - before + np.float32(0.1) * curvature, now

        return lax.fori_loop(0, 500, step, (now, before))

    return program, [normal(4096), normal(4096, seed=1)]


@workload("loops")
def scan_with_cond():
    def program(xs):
        def body(c, x):
            c = lax.cond(x > 0, lambda c: c * np.float32(0.9) + x, lambda c: c - jnp.tanh(x), c)
            return c, c

        return lax.scan(body, jnp.float32(0), xs)

    return program, [normal(2000)]


@workload("loops")
def scan_with_switch():
    def program(kinds, xs):
        branches = [
            lambda c, x: c + x, lambda c, x: c * np.float32(0.5), lambda c, x: jnp.sin(c) - x,
            lambda c, x: jnp.maximum(c, x),
        ]

        def body(c, step):
            c = lax.switch(step[0], branches, c, step[1])
            return c, c

        return lax.scan(body, jnp.float32(0), (kinds, xs))

    return program, [integers(2000, high=4), normal(2000)]


@workload("loops")
def fori_dynamic_update_slice():
    def program(x):
        def body(i, x):
            row = lax.dynamic_slice(x, (i, 0), (1, 64))
            return lax.dynamic_update_slice(x, row * np.float32(2) + 1, (i + 1, 0))

        return lax.fori_loop(0, 999, body, x * np.float32(1e-3))

    return program, [uniform(1000, 64, high=1e-3)]


@workload("loops")
def scan_cumulative_rows():
    def program(xs):
        def body(c, x):
            c = c * np.float32(0.99) + x
            return c, c

        return lax.scan(body, jnp.zeros(64, jnp.float32), xs)

    return program, [normal(2000, 64)]


@workload("loops", tolerance=1e-3)
def scan_small_net_sgd():
    """Steps of a network as policies and surrogates are: each on the next 256 of 5120 samples."""
    sizes = [8, 64, 64, 4]

    def program(params, xs, ys):
        def loss(params, x, y):
            for w, b in params[:-1]:
                x = jnp.tanh(x @ w + b)
            w, b = params[-1]
            return ((x @ w + b - y) ** 2).mean()

        def body(params, batch):
            value, slope = jax.value_and_grad(loss)(params, *batch)
            return jax.tree.map(lambda p, g: p - np.float32(0.05) * g, params, slope), value

        return lax.scan(body, params, (xs, ys))

    layers = zip(sizes[:-1], sizes[1:])
    params = [(normal(n, m, seed=n) * np.float32(n**-0.5), np.zeros(m, np.float32)) for n, m in layers]
    return program, [params, normal(20, 256, 8), normal(20, 256, 4, seed=1)]


def scanned_layers(rows):
    """Layers of a transformer as large models are written: one layer in a scan over stacks of its weights."""
    layers, width = 12, 768

    def program(params, x):
        def layer(x, p):
            h = x * lax.rsqrt((x * x).mean(-1, keepdims=True) + np.float32(1e-6))
            x = x + jnp.tanh(h @ p["mix"]) @ p["out"]
            return x + jax.nn.gelu(x @ p["up"]) @ p["down"], None

        return lax.scan(layer, x, params)[0]

    def stack(n, m, seed):
        return normal(layers, n, m, seed=seed) * np.float32(0.02)

    params = {
        "mix": stack(width, width, 1),
        "out": stack(width, width, 2),
        "up": stack(width, 4 * width, 3),
        "down": stack(4 * width, width, 4),
    }
    return program, [params, normal(rows, width)]


@workload("loops", tolerance=1e-3)
def scan_layers_1_row():
    return scanned_layers(1)


@workload("loops", tolerance=1e-3)
def scan_layers_8_rows():
    return scanned_layers(8)
