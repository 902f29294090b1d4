"""Games, searches in them and what is trained on them."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, random

from programs import KEY, program


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
