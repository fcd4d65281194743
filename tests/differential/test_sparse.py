"""jax.experimental.sparse: its primitives bring their rules as those of libraries do. Values, gradients, residuals, vmap against JAX."""
import os

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax._src.ad_checkpoint import saved_residuals
from jax.experimental import sparse

import jaxscope
from conftest import cut, largest_error

R = np.random.RandomState(0)
DENSE = jnp.array(np.where(R.rand(6, 5) < 0.4, R.standard_normal((6, 5)), 0).astype(np.float32))
COO, ROWS = sparse.BCOO.fromdense(DENSE), sparse.BCSR.fromdense(DENSE)
VALUES, INDICES = COO.data, COO.indices
V, B = jnp.arange(5.0) + 1, jnp.full((5, 3), 0.5)


def coo(d):
    return sparse.BCOO((d, INDICES), shape=(6, 5))


PROGRAMS = {
    "todense": (lambda d: jnp.sin(coo(d).todense()).sum(), VALUES),
    "fromdense": (lambda m: jnp.sin(sparse.BCOO.fromdense(m, nse=12).data).sum(), DENSE),
    "extract": (lambda m: jnp.sin(sparse.bcoo_extract(COO, m).data).sum(), DENSE),
    "product": (lambda d, b: jnp.tanh(coo(d) @ b).sum(), VALUES, B),
    "transposed": (lambda d, v: ((coo(d).T @ jnp.sin(jnp.arange(6.0))) * v).sum(), VALUES, V),
    "rows": (lambda d, v: jnp.sin(sparse.BCSR((d, ROWS.indices, ROWS.indptr), shape=(6, 5)) @ v).sum(), ROWS.data, V),
    "duplicates": (lambda d: jnp.sin(coo(d).sum_duplicates(nse=12).data).sum(), VALUES),
    "sorted": (lambda d: (jnp.sin(coo(d).sort_indices().data) * jnp.arange(d.size)).sum(), VALUES),
    "sampled": (lambda a, b: jnp.sin(sparse.bcoo_dot_general_sampled(a, b, INDICES, dimension_numbers=(((1,), (0,)), ((), ())))).sum(), jnp.ones((6, 4)),
                jnp.full((4, 5), 0.3)),
    "sparsified": (lambda d, v: sparse.sparsify(lambda a, v: jnp.sin(a @ v).sum())(coo(d), v), VALUES, V),
    "in a scan": (lambda d, v: jax.lax.scan(lambda c, _: (jnp.tanh(coo(d).T @ (coo(d) @ c)), None), v, None, length=3)[0].sum(), VALUES, V),
    "mapped": (lambda d, v: jax.vmap(lambda k: jnp.sin(coo(d) @ (v * k)).sum())(jnp.arange(3.0)).sum(), VALUES, V),
}


def outputs(cli, tmp_path, file, *options) -> list:
    npz = tmp_path / "out.npz"
    npz.unlink(missing_ok=True)
    cli.raw("run", file, *options, "--outputs", str(npz))
    z = np.load(npz)
    return [z[f"out{k}"] for k in range(len(z.files))]


@pytest.mark.parametrize("name", PROGRAMS if os.environ.get("JAXSCOPE_FULL") else ["product", "rows", "duplicates", "in a scan"])
def test_sparse_arrays(cli, tmp_path, name):
    fn, *args = PROGRAMS[name]
    file, mapped = str(tmp_path / "p.jaxscope"), str(tmp_path / "mapped.jaxscope")
    jaxscope.capture(fn, values="all")(*args).save(file)
    wrt = tuple(range(len(args)))
    theirs = jax.tree_util.tree_leaves(jax.value_and_grad(fn, argnums=wrt)(*args))
    ours = outputs(cli, tmp_path, file, "--apply", "value_and_grad:" + ",".join(map(str, wrt)))
    assert len(ours) == len(theirs) and all(largest_error(a, b) < 2e-4 for a, b in zip(ours, theirs))
    rows = [(r["aval"], cut(r["source"])) for r in cli.json("residuals", file, "--wrt", "all")["residuals"]]
    assert rows == [(a.str_short(short_dtypes=True), cut(s.replace(__file__, "test_sparse.py"))) for a, s in saved_residuals(fn, *args)
                    if s != "from a literal"]
    cli.raw("transform", file, "--apply", "vmap", "-o", mapped)
    inputs = {f"arg{i}": np.stack([np.asarray(a) * k for k in np.linspace(0.5, 1.5, 8, dtype=np.float32)]) for i, a in enumerate(args)}
    np.savez(tmp_path / "in.npz", **inputs)
    got, = outputs(cli, tmp_path, mapped, "--inputs", str(tmp_path / "in.npz"))
    assert largest_error(got, jax.vmap(fn)(*inputs.values())) < 2e-4
