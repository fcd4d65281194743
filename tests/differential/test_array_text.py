"""Arrays of the C++ front end print as JAX's: str and repr of arrays of many types, shapes and magnitudes (tests/trace/print_driver.cpp)."""
import os
import pathlib
import subprocess

import jax.numpy as jnp
import numpy as np
from seed import seed_of_sample

DRIVER = pathlib.Path(os.environ.get("JAXSCOPE", "")).parent / "tests" / "print_driver"
SHAPES = [(), (1,), (3,), (7,), (30,), (2, 3), (3, 20), (2, 2, 2), (1, 4, 1), (0,), (0, 3), (1001,), (40, 50), (11, 10, 12), (2, 600)]


def samples(rng):
    for dtype in ("float32", "float16", "bfloat16", "int32", "uint8", "bool", "complex64"):
        for shape in SHAPES:
            if dtype == "bfloat16" and not shape:
                continue
            for scale in (1.0, 1e-6, 1e6, 1e12) if dtype == "float32" else (1.0, 100.0):
                n = int(np.prod(shape)) * (2 if dtype == "complex64" else 1)
                x = rng.normal(size=n).astype("float32") * np.float32(scale)
                kind = rng.integers(4)
                if kind == 0:
                    x = np.round(x * 4) / 4
                if kind == 1 and dtype in ("float32", "float16", "complex64") and n:
                    x[rng.integers(n)] = rng.choice([np.nan, np.inf, -np.inf])
                if kind == 2:
                    x = np.round(x)
                if dtype in ("int32", "uint8", "bool"):
                    x = np.abs(np.trunc(x)) if dtype == "uint8" else np.trunc(x)
                    x = np.minimum(x, 250) if dtype == "uint8" else x
                yield dtype, shape, x.astype("float32")


def test_arrays_print_as_jax_prints_them():
    cases = list(samples(np.random.default_rng(seed_of_sample())))
    text = "".join(f"{d} {','.join(map(str, s))}\n{' '.join(repr(float(v)) for v in x)}\n" for d, s, x in cases)
    out = subprocess.run([DRIVER], input=text, capture_output=True, text=True, check=True, timeout=300).stdout
    found = out.split("\n==\n")[:-1]
    assert len(found) == len(cases)
    wrong = []
    for (dtype, shape, x), got in zip(cases, found, strict=True):
        a = jnp.asarray(x.view("complex64") if dtype == "complex64" else x.astype(jnp.dtype(dtype))).reshape(shape)
        want = f"{a!s}\n--\n{a!r}"
        if want != got:
            wrong.append(f"{dtype}{shape}\n{want}\n>>>\n{got}")
    assert not wrong, f"{len(wrong)} of {len(cases)}:\n" + "\n".join(wrong[:5])
