"""core/sharding against real JAX on eight forced host devices: which device has which part of an array."""
import json
import os
import random
import subprocess
import sys

import pytest
from seed import seed_of_sample

JAXSCOPE = os.environ.get("JAXSCOPE", "jaxscope")
DRIVER = os.path.join(os.path.dirname(JAXSCOPE), "tests", "spec_driver")

# Asked in a process of its own: the number of devices is fixed when JAX starts.
ASK_JAX = """
import json, os, sys
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
import numpy as np, jax
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
for axes, shape, spec in json.load(sys.stdin):
    devices = np.array(jax.devices()[:int(np.prod([n for _, n in axes]))]).reshape([n for _, n in axes])
    s = NamedSharding(Mesh(devices, [a for a, _ in axes]), P(*[tuple(d) if d else None for d in spec]))
    found = {d.id: i for d, i in s.devices_indices_map(tuple(shape)).items()}
    ranges = [",".join("%d:%d" % r.indices(n)[:2] for r, n in zip(found[d.id], shape)) for d in devices.flat]
    print("|".join([",".join(map(str, s.shard_shape(tuple(shape))))] + ranges))
"""


def random_case(rng):
    axes = rng.choice([[("x", 8)], [("x", 2), ("y", 4)], [("x", 4), ("y", 2)], [("x", 2), ("y", 2), ("z", 2)], [("x", 3), ("y", 2)]])
    rank = rng.randint(1, 4)
    names = [a for a, _ in axes]
    rng.shuffle(names)
    spec = [[] for _ in range(rank)]
    for name in names[: rng.randint(0, len(names))]:
        rng.choice(spec).append(name)
    size = dict(axes)
    shape = []
    for d in spec:
        parts = 1
        for name in d:
            parts *= size[name]
        shape.append(parts * rng.randint(1, 3))
    return axes, shape, spec


def test_each_device_has_the_part_that_jax_gives_it():
    rng = random.Random(seed_of_sample())
    cases = [random_case(rng) for _ in range(300)]
    env = dict(os.environ, JAX_PLATFORMS="cpu")
    wanted = subprocess.run([sys.executable, "-c", ASK_JAX], input=json.dumps(cases), capture_output=True, text=True, env=env, timeout=120)
    assert wanted.returncode == 0, wanted.stderr
    lines = ["|".join([" ".join(f"{a}={n}" for a, n in axes), ",".join(map(str, shape)), " ".join(",".join(d) or "-" for d in spec)])
             for axes, shape, spec in cases]
    found = subprocess.run([DRIVER], input="\n".join(lines) + "\n", capture_output=True, text=True, timeout=60)
    assert found.returncode == 0, found.stderr
    for line, a, b in zip(lines, found.stdout.splitlines(), wanted.stdout.splitlines(), strict=True):
        assert a == b, line
