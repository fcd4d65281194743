"""Constants and arguments come through a capture bit for bit: signs and payloads of NaNs, -0.0, subnormals, every dtype that JAX has."""
import json
import subprocess

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from wellformed import check

from jaxscope import api

NAMES = ["bool", "int2", "int4", "int8", "int16", "int32", "uint2", "uint4", "uint8", "uint16", "uint32", "bfloat16", "float16", "float32",
         "float4_e2m1fn", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2",
         "float8_e5m2fnuz", "float8_e8m0fnu", "complex64"]
WIDE = ["int64", "uint64", "float64", "complex128"]


def every_kind_of(dtype: np.dtype) -> np.ndarray:
    """All values of 8 bits and less; of wider types those at the edges, and NaNs quiet, signalling, negative, with payloads."""
    if dtype == bool:
        return np.array([False, True])
    if dtype.itemsize == 1:
        values = np.arange(256, dtype=np.uint8).view(dtype)
        if dtype.name in ("int2", "uint2", "int4", "uint4", "float4_e2m1fn"):
            values = values[:4 if dtype.name.endswith("2") else 16] if dtype.name[0] != "i" else np.arange(-2, 2).astype(dtype)
        return values
    if dtype.kind == "c":
        parts = every_kind_of(np.dtype(f"f{dtype.itemsize // 2}"))
        return np.stack([parts, parts[::-1]], 1).reshape(-1).view(dtype)
    bits = 8 * dtype.itemsize
    if dtype.kind in "iu":
        edges = [0, 1, 2, 2**(bits - 1) - 1, 2**(bits - 1), 2**bits - 1]
    else:
        mantissa = ml_dtypes.finfo(dtype).nmant
        inf = ((1 << bits) - 1) >> (mantissa + 1) << mantissa
        quiet = 1 << (mantissa - 1)
        edges = [0, 1, 2, inf - 1, inf, inf | quiet, inf | quiet | 1, inf | 1, inf | quiet >> 1, inf + quiet * 2 - 1, inf >> 1, 1 << mantissa]
        edges += [e | 1 << (bits - 1) for e in edges]
    return np.array(edges, np.uint64).astype(f"u{dtype.itemsize}").view(dtype)


def run(binary, folder, f, *args):
    document = api.capture(f, values="all")(*args).to_json()
    check(json.loads(document))
    (folder / "a.jaxscope").write_text(document)
    done = subprocess.run([binary, "run", "a.jaxscope", "--outputs", "out.npz"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    again = subprocess.run([binary, "transform", "a.jaxscope", "--apply", "dce", "--output", "b.jaxscope"], cwd=folder, capture_output=True, text=True)
    if again.returncode == 0:
        done = subprocess.run([binary, "run", "b.jaxscope", "--outputs", "out2.npz"], cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        first, second = np.load(folder / "out.npz"), np.load(folder / "out2.npz")
        assert all(first[k].tobytes() == second[k].tobytes() for k in first)
    return np.load(folder / "out.npz")


def has(name: str) -> bool:
    try:
        jnp.zeros(1, name)
        return True
    except Exception:  # or XLA can't make it (int4 in 0.4.30)
        return False


@pytest.mark.parametrize("name", NAMES + WIDE)
def test_bits(binary, tmp_path, name):
    with jax.enable_x64(name in WIDE) if hasattr(jax, "enable_x64") else jax.experimental.enable_x64(name in WIDE):
        if not has(name):
            pytest.skip("this JAX has no such dtype")
        x = every_kind_of(np.dtype(getattr(ml_dtypes, name, name)))
        assert len(x) > 1
        out = run(binary, tmp_path, lambda a: (a, jnp.asarray(x), a[::-1]), x)
        if name in ("int2", "int4"):  # whose upper bits say nothing
            x = x.astype(np.int8)
        assert out["out0"].tobytes() == x.tobytes()
        assert out["out1"].tobytes() == x.tobytes()
        # Computations quieten signalling NaNs of 8 bits, which they do in 32.
        want, found = x[::-1], out["out2"].view(x.dtype)
        same = want == want if name.startswith("float8") else np.full(x.shape, True)
        assert found[same].tobytes() == want[same].tobytes() and not (found == found)[~same].any()


def test_scalars(binary, tmp_path):
    """Literals: those of equations and those that are results."""
    nans = [np.float32(np.nan), -np.float32(np.nan), np.uint32(0x7FC12345).view(np.float32), np.float32(-0.0), np.float32(1e-45)]
    out = run(binary, tmp_path, lambda a: tuple(jnp.where(a, n, np.float32(1)) for n in nans) + (jnp.float32(-0.0),), np.True_)
    assert [out[f"out{i}"].tobytes() for i in range(6)] == [n.tobytes() for n in nans] + [np.float32(-0.0).tobytes()]


def test_keys(binary, tmp_path):
    for impl in ("threefry2x32", "rbg", "unsafe_rbg"):
        key = jax.random.key(0xFFFFFFFF, impl=impl)
        out = run(binary, tmp_path, lambda k: (jax.random.key_data(k), jax.random.key_data(key)), key)
        assert out["out0"].tobytes() == out["out1"].tobytes() == np.asarray(jax.random.key_data(key)).tobytes()
