"""What jaxscope's JIT computes equals what real JAX computes."""
import jax
import numpy as np
import pytest

from conftest import available, largest_error, load_module, names

# Of an element or of the typical one (largest_error). In float32 sums of a model's gradients differ by up to 6e-5 of it, compiled otherwise.
TOLERANCE = {"float32": 1e-4, "float64": 1e-11, "bfloat16": 2 ** -7, "float16": 2 ** -9, "complex64": 2e-5}
RUNNABLE = names()


def close(ours: np.ndarray, theirs, dtype: str, low: bool = False, factor: float = 1):
    """`low`: the program computes in bfloat16 or float16 inside, so its float32 results are no better than those."""
    if ours.dtype.kind == "V":  # NumPy's files have no names for ml_dtypes' types
        ours = ours.view(np.asarray(theirs).dtype)
    tolerance = max(TOLERANCE[dtype], TOLERANCE["bfloat16"] if low else 0) if dtype in TOLERANCE else 0
    assert largest_error(ours, theirs) <= factor * tolerance


def run_by_jax(p: dict):
    """Leaves of what JAX computes, and whether it computes in a narrow type inside."""
    fn, args, kwargs = p["fn"], p["args"], p.get("kwargs", {})
    if p.get("jit") == "eqx":  # the program is fn over its array leaves
        import equinox as eqx

        arrays, rest = eqx.partition((args, kwargs), eqx.is_array)

        def program(arrays):
            a, k = eqx.combine(arrays, rest)
            return eqx.filter(p["fn"](*a, **k), eqx.is_array)
        fn, args, kwargs, static = program, (arrays,), {}, ()
    else:
        static = p.get("static_argnums") or ()
    text = str(jax.make_jaxpr(fn, static_argnums=static)(*args, **kwargs))
    return jax.tree.leaves(jax.jit(fn, static_argnums=static or None)(*args, **kwargs)), any(f"{t}[" in text for t in ("bf16", "f16"))


def test_one_huge_element_hides_no_error():
    theirs = np.array([1, 2, 3, 3e38], np.float32)
    close(theirs, theirs, "float32")
    for wrong in ([1.001, 2, 3, 3e38], [1, 2, 3, np.inf], [1, 2, np.nan, 3e38]):
        with pytest.raises(AssertionError):
            close(np.array(wrong, np.float32), theirs, "float32")


@pytest.mark.parametrize("name", RUNNABLE)
def test_outputs(cli, name, tmp_path):
    if not available(name):
        pytest.skip("its libraries are not installed")
    p = load_module(name).program()
    out = str(tmp_path / "out.npz")
    cli.json("run", cli.capture(name), "--outputs", out)
    theirs, low = run_by_jax(p)
    with np.load(out) as ours:
        assert len(ours.files) == len(theirs)
        for i, x in enumerate(theirs):
            if jax.dtypes.issubdtype(x.dtype, jax.dtypes.prng_key):
                x = jax.random.key_data(x)
            close(ours[f"out{i}"], x, str(x.dtype), low)


@pytest.mark.parametrize("choice", [(), ("--policy", "nothing_saveable"), ("--replace-policy", "nothing_saveable")])
@pytest.mark.parametrize("name", ["transformer_lm", "transformer_lm_scan"])
def test_bundled_samples(cli, name, choice, tmp_path):
    """Adam's first step divides a gradient by its own size: where that is rounding, JAX differs from itself, compiled otherwise. So loss
    and moments are held to JAX, and the parameters to Adam of these moments."""
    module = load_module(name)
    adam = load_module("transformer_lm")
    p = module.program()
    out = str(tmp_path / "out.npz")
    cli.json("run", cli.capture(name), *choice, "--outputs", out)
    theirs = jax.jit(p["fn"])(*p["args"])
    tree = jax.tree.structure(theirs)
    with np.load(out) as ours:
        ours = jax.tree.unflatten(tree, [ours[f"out{i}"] for i in range(tree.num_leaves)])
    rest = lambda result: ({k: v for k, v in result[0].items() if k != "params"}, result[1])
    # Squares of gradients have twice their error: on one processor JAX's own are 1.2e-4 from what float64 gives, ours 1.0e-4.
    for a, b in zip(jax.tree.leaves(rest(ours)), jax.tree.leaves(rest(theirs)), strict=True):
        close(a, b, str(b.dtype), factor=2)
    rate = adam.LEARNING_RATE * np.sqrt(1 - adam.BETA2) / (1 - adam.BETA1)
    stepped = jax.tree.map(lambda p, m, n: p - rate * m.astype(float) / (np.sqrt(n.astype(float)) + adam.EPSILON),
                           p["args"][0]["params"], ours[0]["mu"], ours[0]["nu"])
    for a, b in zip(jax.tree.leaves(ours[0]["params"]), jax.tree.leaves(stepped), strict=True):
        close(a, b, "float32")


@pytest.mark.parametrize("policy", ["nothing_saveable", "dots_saveable", "everything_saveable"])
def test_step_under_another_policy(cli, policy, tmp_path):
    """The what-if re-derives the loss in C++ and puts it back into the step: the values stay."""
    name = "step_lm_adam_names"
    p = load_module(name).program()
    out = str(tmp_path / "out.npz")
    cli.json("run", cli.capture(name), "--policy", policy, "--outputs", out)
    theirs = jax.tree.leaves(jax.jit(p["fn"])(*p["args"]))
    with np.load(out) as ours:
        assert len(ours.files) == len(theirs) > 0
        for i, x in enumerate(theirs):
            close(ours[f"out{i}"], x, str(x.dtype))
