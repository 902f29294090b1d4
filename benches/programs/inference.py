"""Samplers, evolution and Gaussian processes."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, random

from programs import KEY, program


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


@program("tinygp")
def tinygp_quasiseparable():
    import tinygp

    x = jnp.sort(random.uniform(KEY, (2000,))) * 10

    def likelihood(p):
        kernel = tinygp.kernels.quasisep.Matern52(jnp.exp(p[1]), sigma=jnp.exp(p[0]))
        process = tinygp.GaussianProcess(kernel, x, diag=0.01, assume_sorted=True)
        return -process.log_probability(jnp.sin(x))

    return jax.value_and_grad(likelihood), (jnp.array([0.0, 0.5]),)


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
