"""Programs over several devices."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import NamedSharding, PartitionSpec as P

X = np.arange(32.0, dtype=np.float32).reshape(8, 4)


@pytest.fixture
def mesh():
    return jax.make_mesh((2, 2), ("x", "y"), axis_types=(jax.sharding.AxisType.Auto,) * 2)


def test_values_and_shardings_of_partitioned_programs(mesh):
    x = jax.device_put(X, NamedSharding(mesh, P("x", "y")))
    for f, g, spec in [
        (lambda x: x * 2, X * 2, P("x", "y")),
        (lambda x: x.T, X.T, P("y", "x")),
        (lambda x: x.sum(0), X.sum(0), P("y")),
        (lambda x: x @ x.T, X @ X.T, P("x")),
    ]:
        result = jax.jit(f)(x)
        np.testing.assert_allclose(result, g)
        assert result.sharding.is_equivalent_to(NamedSharding(mesh, spec), result.ndim)


def test_shard_map_with_collectives(mesh):
    def body(x):
        total = jax.lax.psum(x, "x")
        row = jax.lax.all_gather(x, "y", axis=1, tiled=True)
        shifted = jax.lax.ppermute(x, "x", [(0, 1), (1, 0)])
        return total, row, shifted, x + jax.lax.axis_index("y")

    specs = (P(None, "y"), P("x", None), P("x", "y"), P("x", "y"))
    f = jax.jit(jax.shard_map(body, mesh=mesh, in_specs=P("x", "y"), out_specs=specs, check_vma=False))
    total, row, shifted, indexed = f(X)
    np.testing.assert_array_equal(total, X[:4] + X[4:])
    np.testing.assert_array_equal(row, X)
    np.testing.assert_array_equal(shifted, np.concatenate([X[4:], X[:4]]))
    np.testing.assert_array_equal(indexed, X + np.array([0, 0, 1, 1], np.float32))


def test_pmap():
    f = jax.pmap(lambda x: x / jax.lax.psum(x, "i"), axis_name="i")
    np.testing.assert_allclose(f(np.arange(4.0, dtype=np.float32)), np.arange(4) / 6, rtol=1e-6)


def test_uneven_work_with_even_shardings(mesh):
    sharding = NamedSharding(mesh, P(("x", "y")))
    result = jax.jit(lambda: jnp.arange(8.0) ** 2, out_shardings=sharding)()
    np.testing.assert_array_equal(result, np.arange(8.0) ** 2)
    assert [shard.data.shape for shard in result.addressable_shards] == [(2,)] * 4


def test_gradients_of_shard_map(mesh):
    @jax.shard_map(mesh=mesh, in_specs=P("x"), out_specs=P())
    def loss(x):
        return jax.lax.psum(jnp.sum(x**2), "x")

    np.testing.assert_allclose(jax.grad(lambda x: loss(x))(X), 2 * X)


def test_gradients_of_what_all_devices_read(mesh):
    """Without checks of what varies, each device's share of the gradients of `k` and `v` has to be added up.

    Numbers are whole, so that sums are exact: a difference of two sums of 2016, as in JAX's
    `test_check_rep_false_grads`, is mostly rounding.
    """
    rows, k = P(("x", "y")), np.arange(4, dtype=np.float32)
    specs = (rows, P(), P())
    body = jax.shard_map(
        lambda q, k, v: q * k + v, mesh=mesh, in_specs=specs, out_specs=rows, check_vma=False
    )
    arguments = [jax.device_put(a, NamedSharding(mesh, spec)) for a, spec in zip((X, k, k), specs)]
    gradients = jax.value_and_grad(lambda *arguments: body(*arguments).sum(), argnums=(0, 1, 2))
    for f in (gradients, jax.jit(gradients)):
        value, (of_q, of_k, of_v) = f(*arguments)
        assert value == (X * k + k).sum()
        np.testing.assert_array_equal(of_q, np.broadcast_to(k, X.shape))
        np.testing.assert_array_equal(of_k, X.sum(0))
        np.testing.assert_array_equal(of_v, np.full(4, len(X)))


def test_manual_regions_in_manual_regions():
    """A region over one axis inside of a region over another, with a third axis that is not manual."""
    mesh = jax.make_mesh((2, 2, 1), ("x", "y", "z"), axis_types=(jax.sharding.AxisType.Auto,) * 3)

    def inner(x):
        return x * jax.lax.axis_index("y")

    def outer(x):
        x = x + 100 * jax.lax.axis_index("x")
        return jax.shard_map(inner, in_specs=P(None, "y"), out_specs=P(None, "y"), axis_names={"y"})(x)

    with jax.set_mesh(mesh):
        f = jax.shard_map(outer, in_specs=P("x", None), out_specs=P("x", None), axis_names={"x"})
        result = jax.jit(f)(jax.device_put(X, NamedSharding(mesh, P("x", "y"))))
    expected = X + 100 * (np.arange(8) >= 4)[:, None]
    np.testing.assert_array_equal(result, expected * (np.arange(4) >= 2))


def test_regions_are_divided_along_axes_that_they_leave_open(mesh):
    """A `shard_map` over `x` alone: `y` cuts what is in it as it cuts what is outside."""
    spread = jax.lax.with_sharding_constraint
    ring = [(0, 1), (1, 0)]

    def loop(x):
        return jax.lax.scan(lambda x, _: (x * 2 - jax.lax.pmax(x, "x"), None), x, None, length=3)[0]

    def scattered(x):
        parts = jax.lax.psum_scatter(x, "x", scatter_dimension=0, tiled=True)
        return jnp.concatenate([parts, -parts])

    half = X[:4], X[4:]
    for body, of_parts in [
        (lambda x: x * x, lambda a, b: a * a),
        (lambda x: spread(x + 1, P(None, "y")), lambda a, b: a + 1),
        (lambda x: x - jax.lax.psum(x, "x"), lambda a, b: -b),
        (lambda x: jax.lax.ppermute(x, "x", ring), lambda a, b: b),
        (lambda x: jax.lax.all_gather(x, "x").sum(0) * 3, lambda a, b: (a + b) * 3),
        (lambda x: jax.lax.all_to_all(x, "x", 0, 0, tiled=True).sum(0) + x, None),
        (scattered, None),
        (loop, lambda a, b: a * 8 - 7 * np.maximum(a, b)),
        (lambda x: x + jax.lax.axis_index("x"), None),
        (jax.jit(lambda x: jnp.cumsum(x, 0)), lambda a, b: np.cumsum(a, 0)),
    ]:
        region = jax.shard_map(body, in_specs=P("x"), out_specs=P("x"), axis_names={"x"}, check_vma=False)
        whole = jax.jit(jax.shard_map(body, mesh=mesh, in_specs=P("x"), out_specs=P("x"), check_vma=False))
        with jax.set_mesh(mesh):
            x = jax.device_put(X, NamedSharding(mesh, P("x", "y")))
            program = jax.jit(region).lower(x).compile()
            result = program(x)
        if of_parts is None:
            np.testing.assert_array_equal(result, whole(X))
        else:
            np.testing.assert_array_equal(result, np.concatenate([of_parts(*half), of_parts(*half[::-1])]))
        assert result.sharding.spec == P("x", "y")
        # Nobody has all columns of anything.
        assert ",4]" not in program.as_text()


def test_what_is_said_in_regions_goes_out_of_them(mesh):
    def body(x):
        return jax.lax.with_sharding_constraint(x.T @ x, P("y"))

    f = jax.shard_map(body, in_specs=P("x"), out_specs=P(None, "x"), axis_names={"x"})
    with jax.set_mesh(mesh):
        result = jax.jit(f)(jax.device_put(X, P()))
    np.testing.assert_array_equal(result, np.concatenate([h.T @ h for h in (X[:4], X[4:])], axis=1))
    assert result.sharding.spec == P("y", "x")


def test_sums_over_open_axes_stay_in_their_group(mesh):
    """Rows that `y` cuts are summed over `y` alone, also where only some groups come by."""

    def body(x):
        x = jax.lax.with_sharding_constraint(x, P("y"))
        total = jnp.einsum("ij,ik->jk", x, x)
        turned = jax.lax.cond(jax.lax.axis_index("x") == 0, lambda x: x[::-1] * x.sum(), lambda x: x - x[:1], x)
        return total, turned

    f = jax.shard_map(body, in_specs=P("x"), out_specs=P("x"), axis_names={"x"}, check_vma=False)
    with jax.set_mesh(mesh):
        total, turned = jax.jit(f)(jax.device_put(X, P("x")))
    a, b = X[:4], X[4:]
    np.testing.assert_array_equal(total, np.concatenate([a.T @ a, b.T @ b]))
    np.testing.assert_array_equal(turned, np.concatenate([a[::-1] * a.sum(), b - b[:1]]))
    assert turned.sharding.spec == P(("x", "y"))


def test_regions_in_regions_keep_open_axes():
    mesh = jax.make_mesh((2, 1, 2), ("x", "y", "z"), axis_types=(jax.sharding.AxisType.Auto,) * 3)

    @jax.jit
    def inner(x):
        f = lambda x: x + jax.lax.psum(x, "y") * jax.lax.axis_index("y")
        return jax.shard_map(f, in_specs=P("y"), out_specs=P("y"), axis_names={"y"})(x) * 2

    def outer(x):
        return inner(x) + jax.lax.axis_index("x")

    with jax.set_mesh(mesh):
        f = jax.shard_map(outer, in_specs=P("x"), out_specs=P("x"), axis_names={"x"})
        result = jax.jit(f)(jax.device_put(X, P("x", "z")))
    np.testing.assert_array_equal(result, X * 2 + (np.arange(8) >= 4)[:, None])
    assert result.sharding.spec == P("x", "z")


def test_gradients_of_regions_over_some_axes(mesh):
    w = np.linspace(-1, 1, 16, dtype=np.float32).reshape(4, 4)

    def loss(x, w):
        def body(x, w):
            def step(x, _):
                return jnp.tanh(jax.lax.with_sharding_constraint(x @ w, P(None, "y"))), None

            x, _ = jax.lax.scan(step, x, None, length=2)
            return jax.lax.psum(jnp.sum(x**2), "x")

        return jax.shard_map(body, in_specs=(P("x"), P()), out_specs=P(), axis_names={"x"})(x, w)

    def plain(x, w):
        return jnp.sum(jnp.tanh(jnp.tanh(x @ w) @ w) ** 2)

    x = X / 32
    expected = jax.grad(plain, argnums=(0, 1))(x, w)
    with jax.set_mesh(mesh):
        gradients = jax.jit(jax.grad(loss, argnums=(0, 1)))(jax.device_put(x, P("x", "y")), w)
    for gradient, wanted in zip(gradients, expected):
        np.testing.assert_allclose(gradient, wanted, rtol=2e-5, atol=1e-6)


def test_branches_may_end_in_different_constraints(mesh):
    to = lambda *spec: lambda x: jax.lax.with_sharding_constraint(x, NamedSharding(mesh, P(*spec)))
    f = jax.jit(lambda x: jax.lax.cond(x[0, 0] == 0, to("x", None), to(None, "y"), x))
    np.testing.assert_array_equal(f(X), X)


def test_constraints_that_cut_unevenly_are_no_results(mesh):
    constrain = lambda x: jax.lax.with_sharding_constraint(x, NamedSharding(mesh, P(("x", "y"))))
    f = lambda x: constrain(x.reshape(2, -1).sum(1))
    np.testing.assert_array_equal(jax.jit(f)(X), X.reshape(2, -1).sum(1))


def test_values_that_are_not_reduced_yet():
    """A value may be a sum of what the devices have; whoever reads it gets the sum."""
    mesh = jax.make_mesh((2, 2), ("x", "y"), axis_types=(jax.sharding.AxisType.Explicit,) * 2)
    with jax.set_mesh(mesh):
        a = jax.device_put(X, P(None, "x"))
        product = jax.jit(lambda a: jnp.einsum("ij,kj->ik", a, a, out_sharding=P(None, None, unreduced={"x"})))(a)
        assert product.sharding.spec.unreduced == {"x"}
        # Each device keeps what it has summed.
        halves = [X[:, i : i + X.shape[1] // 2] for i in (0, X.shape[1] // 2)]
        for shard in product.addressable_shards:
            half = halves[shard.device.id // 2]
            np.testing.assert_array_equal(shard.data, half @ half.T)
        again = jax.jit(lambda x: jax.reshard(x, P(None, None)))(product)
        np.testing.assert_array_equal(again, X @ X.T)
        summed = jax.jit(
            jax.shard_map(lambda x: jax.lax.psum(x, "x"), in_specs=P(None, None, unreduced={"x"}), out_specs=P())
        )(product)
        np.testing.assert_array_equal(summed, X @ X.T)


def test_shardings_flow_through_calls_and_loops(mesh):
    sharding = NamedSharding(mesh, P("x", "y"))
    x = jax.device_put(X, sharding)
    exported = jax.export.export(jax.jit(lambda x: x * 2))(x)
    for f, g in [
        (exported.call, X * 2),
        (lambda x: jax.lax.fori_loop(0, 3, lambda _, x: x + 1, x), X + 3),
        (lambda x: jax.lax.cond(x[0, 0] == 0, jnp.negative, jnp.exp, x), -X),
    ]:
        result = jax.jit(f)(x)
        np.testing.assert_array_equal(result, g)
        assert result.sharding.is_equivalent_to(sharding, 2)


def test_parts_of_what_is_reversed_change_places(mesh):
    x = np.arange(96.0).reshape(8, 12)
    for spec in [P("x", "y"), P("y", None), P(None, "x"), P(("y", "x"), None)]:
        sharding = NamedSharding(mesh, spec)
        for f in [lambda x: x[::-1], lambda x: x[:, ::-1], lambda x: x[::-1, ::-1] + 1, jnp.flip]:
            result = jax.jit(f)(jax.device_put(x, sharding))
            np.testing.assert_array_equal(result, f(x))
            assert result.sharding.is_equivalent_to(sharding, 2)
    # What is cut unevenly is reversed whole.
    result = jax.jit(lambda x: (x + 1)[:7][::-1])(jax.device_put(x, NamedSharding(mesh, P("x", "y"))))
    np.testing.assert_array_equal(result, (x + 1)[:7][::-1])


def test_values_that_are_to_be_spread_alike(mesh):
    shard_alike = pytest.importorskip("jax.experimental.shard_alike").shard_alike

    def f(x):
        y = jnp.ones(x.shape)
        _, y = shard_alike(x, y)
        return y * 3

    sharding = NamedSharding(mesh, P("x", "y"))
    x = jax.device_put(X, sharding)
    for f, g in [(f, np.full(X.shape, 3)), (lambda x: shard_alike(x, jnp.zeros(x.shape))[1], 0 * X)]:
        result = jax.jit(f)(x)
        np.testing.assert_array_equal(result, g)
        assert result.sharding.is_equivalent_to(sharding, 2)


def test_each_device_computes_its_part(mesh):
    """Work that can be divided is: no device sees a whole array of those that are spread."""
    x = jax.device_put(X, NamedSharding(mesh, P("x")))

    def f(x, w):
        def step(carry, _):
            return jnp.tanh(carry @ w), None

        y, _ = jax.lax.scan(step, x, None, length=3)
        return (y - y.mean(-1, keepdims=True)) * jnp.arange(8.0)[:, None]

    w = np.linspace(-1, 1, 16, dtype=np.float32).reshape(4, 4)
    expected = jax.jit(f)(X, w)
    program = jax.jit(f).lower(x, w).compile()
    np.testing.assert_allclose(program(x, w), expected, rtol=1e-6)
    assert "all-" not in program.as_text()
    assert "[8,4]" not in program.as_text()


def test_contracted_dimensions_are_summed_over_devices(mesh):
    x = jax.device_put(X, NamedSharding(mesh, P(None, ("x", "y"))))
    program = jax.jit(lambda x: x @ x.T).lower(x).compile()
    np.testing.assert_allclose(program(x), X @ X.T, rtol=1e-6)
    assert "all-reduce" in program.as_text()
    assert "all-gather" not in program.as_text()


def test_sharding_is_inspected_while_compiling(mesh):
    seen = []

    def f(x):
        y = x.T * 2
        jax.debug.inspect_array_sharding(y, callback=seen.append)
        return y.sum()

    jax.jit(f)(jax.device_put(X, NamedSharding(mesh, P("x", "y"))))
    assert seen[0].is_equivalent_to(NamedSharding(mesh, P("y", "x")), 2)


def test_custom_partitioning_asks_python(mesh):
    from jax.experimental.custom_partitioning import custom_partitioning

    parts = []

    @custom_partitioning
    def rows(x):
        return jnp.cumsum(x, axis=1)

    def partition(mesh, arguments, result):
        sharding = NamedSharding(arguments[0].sharding.mesh, P(arguments[0].sharding.spec[0], None))

        def part(x):
            parts.append(x.shape)
            return jnp.cumsum(x, axis=1)

        return mesh, part, sharding, (sharding,)

    rows.def_partition(partition, sharding_rule="i j -> i j", need_replication_factors=("j",))
    with jax.set_mesh(mesh):
        result = jax.jit(rows)(jax.device_put(X, NamedSharding(mesh, P("x", "y"))))
    np.testing.assert_array_equal(result, np.cumsum(X, axis=1))
    assert parts == [(4, 4)]


def test_custom_partitioners_that_fail_are_heard(mesh):
    from jax.experimental.custom_partitioning import custom_partitioning

    @custom_partitioning
    def f(x):
        return x

    def partition(mesh, arguments, result):
        raise ValueError("not on a Sunday")

    f.def_partition(partition, sharding_rule="i j -> i j")
    with jax.set_mesh(mesh), pytest.raises(jax.errors.JaxRuntimeError, match="not on a Sunday"):
        jax.jit(f)(jax.device_put(X, NamedSharding(mesh, P("x", "y"))))


def test_layouts_left_to_the_compiler_follow_transpositions():
    from jax.experimental.layout import Format, Layout

    f = jax.jit(lambda x: jnp.tanh(x.T), out_shardings=Format(Layout.AUTO))
    program = f.lower(X).compile()
    assert program.output_formats.layout.major_to_minor == (1, 0)
    np.testing.assert_allclose(program(X), np.tanh(X.T), rtol=1e-6)
    program = jax.jit(lambda x: x @ x.T, out_shardings=Format(Layout.AUTO)).lower(X).compile()
    assert program.output_formats.layout.major_to_minor == (0, 1)


def test_shardings_without_shardy(mesh):
    """Markers that say they have effects go away all the same."""
    shard_alike = pytest.importorskip("jax.experimental.shard_alike").shard_alike
    jax.config.update("jax_use_shardy_partitioner", False)
    try:
        sharding = NamedSharding(mesh, P("x", "y"))
        f = jax.jit(lambda x: shard_alike(x, jnp.arange(32.0).reshape(8, 4))[1] + 1)
        result = f(jax.device_put(X, sharding))
        np.testing.assert_array_equal(result, X + 1)
        assert result.sharding.is_equivalent_to(sharding, 2)
    finally:
        jax.config.update("jax_use_shardy_partitioner", True)


def test_callbacks_of_divided_programs_happen_once(mesh):
    seen = []

    def see(x):
        seen.append(x.shape)
        return x

    def body(x):
        y = jax.pure_callback(see, x, x) * 2
        z = jax.experimental.io_callback(see, y, y, ordered=False)
        jax.debug.callback(see, z.sum())
        return z + 1

    x = jax.device_put(X, NamedSharding(mesh, P("x", "y")))
    np.testing.assert_array_equal(jax.jit(body)(x), 2 * X + 1)
    jax.effects_barrier()
    assert sorted(seen) == [(), (8, 4), (8, 4)]
    # Nothing is left of the result of such a call, not even a place in the plan.
    jax.jit(lambda x: jax.debug.callback(see, x + 1))(x)
    jax.effects_barrier()
    assert len(seen) == 4


def test_open_dimensions_are_cut_as_their_values_are():
    mesh = jax.make_mesh((2, 2), ("x", "y"), axis_types=(jax.sharding.AxisType.Auto,) * 2)
    x = jax.device_put(X, NamedSharding(mesh, P("x", "y")))
    with jax.set_mesh(mesh):
        inner = jax.sharding.explicit_axes(jnp.negative, axes="y", in_sharding=P(None, "y"))
        result = jax.jit(lambda x: inner(x * 2))(x)
    np.testing.assert_array_equal(result, -2 * X)
    assert result.sharding.is_equivalent_to(x.sharding, 2)


def test_gradients_are_added_over_devices_once():
    mesh = jax.make_mesh((2,), ("x",), axis_types=(jax.sharding.AxisType.Explicit,))

    def loss(weights, x):
        for w in weights:
            x = jnp.tanh(x @ w)
        return jnp.sum(x)

    def step(weights, batches):
        def add(sums, batch):
            return jax.tree.map(jnp.add, sums, jax.grad(loss)(weights, batch)), None

        sums = jax.reshard(jax.tree.map(jnp.zeros_like, weights), P(unreduced={"x"}))
        return jax.reshard(jax.lax.scan(add, sums, batches)[0], P())

    weights = [X[:4, :4] / 50, X[4:8, :4] / 90]
    batches = np.stack([X[:4, :4], X[4:8, :4]]) / 100
    with jax.set_mesh(mesh):
        arguments = (
            [jax.device_put(w, P(reduced={"x"})) for w in weights],
            jax.device_put(batches, P(None, "x")),
        )
        program = jax.jit(step).lower(*arguments).compile()
        assert program.as_text().count(" all-reduce(") == 1
        sums = program(*arguments)
    gradients = [jax.grad(loss)(weights, batch) for batch in batches]
    for found, first, second in zip(sums, *gradients):
        np.testing.assert_allclose(found, first + second, rtol=1e-5)


def test_devices_scatter_their_updates():
    mesh = jax.make_mesh((4,), ("x",), axis_types=(jax.sharding.AxisType.Auto,))
    sharding = NamedSharding(mesh, P("x"))
    rows = np.array([0, 2, 2, 1, 0, 0, 5, 2], np.int32)
    places, updates = jax.device_put(rows, sharding), jax.device_put(X, sharding)
    program = jax.jit(lambda places, updates: jnp.zeros((6, 4)).at[places].add(updates))
    wanted = np.zeros((6, 4), np.float32)
    np.add.at(wanted, rows, X)
    np.testing.assert_array_equal(program(places, updates), wanted)
    assert program.lower(places, updates).compile().as_text().count(" all-reduce(") == 1
    # What is there already counts once.
    program = jax.jit(lambda y, places, updates: (y.at[places].add(updates), y.at[places].max(updates)))
    added, most = program(np.ones((6, 4), np.float32), places, updates)
    np.testing.assert_array_equal(added, 1 + wanted)
    np.maximum.at(wanted := np.ones((6, 4), np.float32), rows, X)
    np.testing.assert_array_equal(most, wanted)


def test_a_topology_has_the_devices_of_a_client():
    from jax.experimental import topologies

    topology = topologies.get_topology_desc(platform=jax.default_backend())
    assert [d.id for d in topology.devices] == [d.id for d in jax.devices()]
