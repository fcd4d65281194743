"""Bits, splits and fold_in of many keys, which are hashed side by side each by its own: few numbers of each, blocks of them, one more."""
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import random

import jaxscope


def all_ways(keys, data):
    out = [jax.vmap(lambda k, n=n, t=t: random.bits(k, (n,), t))(keys) for n in (1, 3, 4, 5, 63, 64, 65) for t in (jnp.uint8, jnp.uint16, jnp.uint32, jnp.uint64)]
    made = [jax.vmap(lambda k, n=n: random.split(k, n))(keys) for n in (1, 2, 9)] + [random.split(keys[0], 200), jax.vmap(random.fold_in)(keys, data)]
    made += [jax.vmap(lambda x: random.fold_in(keys[0], x))(data), jax.vmap(lambda k: random.fold_in(k, 5))(keys), random.fold_in(keys[0], data[0])]
    made.append(jax.vmap(jax.vmap(random.fold_in, (None, 0)), (0, None))(keys, data))
    return out + [random.key_data(k) for k in made]


@pytest.mark.parametrize("partitionable", [True, False])
@pytest.mark.parametrize("many", [1, 5, 70])
def test_keys_by_the_dozen(cli, tmp_path, many, partitionable):
    with jax.enable_x64(True), jax.threefry_partitionable(partitionable):
        for dtype, threads in ((jnp.int32, 1), (jnp.uint8, 3), (jnp.int64, 2)):
            args = random.split(random.key(many), many), (jnp.arange(many) * 3 + 1).astype(dtype)
            jaxscope.capture(all_ways, values="all")(*args).save(tmp_path / "p.jaxscope")
            cli.json("run", str(tmp_path / "p.jaxscope"), "--threads", str(threads), "--outputs", str(tmp_path / "out.npz"))
            with np.load(tmp_path / "out.npz") as ours:
                for i, want in enumerate(jax.jit(all_ways)(*args)):
                    assert np.array_equal(ours[f"out{i}"], np.asarray(want)), (i, dtype)
