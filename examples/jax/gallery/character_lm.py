"""A transformer that learns to write text, character by character, in Flax Linen."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import linen as nn

TOLERANCE = 1e-4

TEXT = """All things by immortal power, near or far, hiddenly to each other linked are, that thou
canst not stir a flower without troubling of a star. The moving finger writes; and, having writ,
moves on: nor all thy piety nor wit shall lure it back to cancel half a line. """ * 4
LENGTH, WIDTH, HEADS, LAYERS = 32, 32, 4, 2


class Block(nn.Module):
    @nn.compact
    def __call__(self, x, mask):
        x = x + nn.MultiHeadDotProductAttention(HEADS)(nn.LayerNorm()(x), mask=mask)
        h = nn.gelu(nn.Dense(4 * WIDTH)(nn.LayerNorm()(x)))
        return x + nn.Dense(WIDTH)(h)


class Model(nn.Module):
    characters: int

    @nn.compact
    def __call__(self, tokens):
        embed = nn.Embed(self.characters, WIDTH)
        place = self.param("place", nn.initializers.normal(0.02), (LENGTH, WIDTH))
        x = embed(tokens) + place[: tokens.shape[-1]]
        mask = nn.make_causal_mask(tokens)
        for _ in range(LAYERS):
            x = nn.remat(Block)()(x, mask)
        return embed.attend(nn.LayerNorm()(x))


def run():
    alphabet = sorted(set(TEXT))
    text = jnp.array([alphabet.index(c) for c in TEXT])
    model = Model(len(alphabet))
    params = model.init(jax.random.key(0), text[None, :LENGTH])
    optimizer = optax.adamw(3e-3)

    def loss_of(params, batch):
        logits = model.apply(params, batch[:, :-1])
        return optax.softmax_cross_entropy_with_integer_labels(logits, batch[:, 1:]).mean()

    @jax.jit
    def train(params, key):
        def step(carry, key):
            params, state = carry
            starts = jax.random.randint(key, (8,), 0, len(TEXT) - LENGTH - 1)
            batch = jax.vmap(lambda at: jax.lax.dynamic_slice(text, (at,), (LENGTH + 1,)))(starts)
            loss, gradient = jax.value_and_grad(loss_of)(params, batch)
            updates, state = optimizer.update(gradient, state, params)
            return (optax.apply_updates(params, updates), state), loss

        (params, _), losses = jax.lax.scan(step, (params, optimizer.init(params)), jax.random.split(key, 25))
        return params, losses

    @jax.jit
    def continue_text(params, window):
        def step(window, _):
            following = model.apply(params, window[None])[0, -1].argmax()
            return jnp.append(window[1:], following), following

        return jax.lax.scan(step, window, None, 8)[1]

    params, losses = train(params, jax.random.key(1))
    logits = model.apply(params, text[None, :LENGTH])
    following = continue_text(params, text[:LENGTH])
    assert following.shape == (8,)
    return {"losses": np.asarray(losses), "logits": np.asarray(logits)}
