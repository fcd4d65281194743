"""Captured programs over several devices, run on virtual ones by the command line, against JAX on eight forced host devices."""
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from seed import seed_of_sample

from conftest import largest_error, made, made_by

JAXSCOPE = os.environ.get("JAXSCOPE", "jaxscope")
COUNT = int(os.environ.get("JAXSCOPE_COUNT") or (1000 if os.environ.get("JAXSCOPE_FULL") else 60))
BY_HAND = 52


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder, first = tmp_path_factory.mktemp("sharded"), seed_of_sample()
    made_by("sharded_programs.py", folder, "hand", first)
    last = first + COUNT
    while first < last:
        ended = made("sharded_programs.py", folder, "random", first, last, timeout=3600)
        assert ended.returncode <= 0, ended.stderr[-3000:]
        # XLA's partitioner aborts on some programs, and takes the process along: what was captured last.
        reached = max(int(p.stem.split("-")[1]) for p in folder.glob("random-*.jaxscope"))
        assert ended.returncode == 0 or reached >= first, ended.stderr[-3000:]
        first = reached + 1
    return folder


def run(path, out):
    """`out`: a file for the results."""
    return subprocess.run([JAXSCOPE, "run", str(path), "--json", "--outputs", str(out)], capture_output=True, text=True, timeout=120)


def test_values_are_jaxs(folder, tmp_path):
    programs = sorted(folder.glob("*.jaxscope"))
    assert len(programs) == BY_HAND + COUNT

    def compared(p):
        done = run(p, tmp_path / (p.stem + ".npz"))
        if done.returncode != 0:
            return f"{p.stem}: {done.stderr.strip()}"
        return differences(p.stem, tmp_path / (p.stem + ".npz"), folder / (p.stem + ".jax.npz"))
    with ThreadPoolExecutor(2) as pool:
        wrong = {p.stem: text for p, text in zip(programs, pool.map(compared, programs)) if text}
    # XLA's CPU compiler has faults of its own: writes over rows that it still reads, convolutions of uneven parts. Where JAX disagrees with itself, what it computes
    # operation by operation on whole arrays decides. They are few.
    numbers = {name: name.split("-")[1] for name in wrong if name.startswith("random-")}
    if numbers:
        made_by("sharded_programs.py", folder, "whole", *numbers.values())
    for name, number in numbers.items():
        if (tmp_path / (name + ".npz")).exists():
            text = differences(name, tmp_path / (name + ".npz"), folder / f"random-{number}.whole.npz")
            wrong[name] = f"{wrong[name]}; of whole arrays {text}" if text else ""
    faults = [name for name, text in wrong.items() if not text]
    print("JAX disagrees with itself:", *faults)
    assert not any(wrong.values()), "\n".join(filter(None, wrong.values()))
    assert len(faults) <= max(3, COUNT // 25), faults


def differences(name, ours, theirs):
    """Empty: there are none. What is left when numbers about one cancel out is rounding, JAX's and ours."""
    if not theirs.exists():
        return f"{name}: JAX computed nothing"
    a, b = np.load(ours), np.load(theirs)
    errors = ((key, largest_error(a[key], b[key])) for key in b.files if not (a[key].shape == b[key].shape and np.allclose(a[key], b[key], rtol=0, atol=1e-7)))
    return "; ".join(f"{name} {key}: {error}" for key, error in errors if not error < 2e-4)


def test_what_stays_unreduced_in_jax_is_said(folder, tmp_path):
    assert "leaves sums unreduced (dot_general at " in run(folder / "unreduced.jaxscope", tmp_path / "o.npz").stderr


def test_two_runs_are_the_same_bit_for_bit(folder, tmp_path):
    p = folder / "map-x8-sums.jaxscope"
    assert run(p, tmp_path / "a.npz").returncode == 0 and run(p, tmp_path / "b.npz").returncode == 0
    a, b = np.load(tmp_path / "a.npz"), np.load(tmp_path / "b.npz")
    assert all(a[n].tobytes() == b[n].tobytes() for n in a.files)


def report(path, out):
    done = run(path, out)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_collectives_are_counted(folder, tmp_path):
    sharding = report(folder / "map-x8-gathers.jaxscope", tmp_path / "o.npz")["sharding"]
    found = [(c["kind"], c["members"], c["bytes"]) for c in sharding["collectives"]]
    # 2 x 3 floats a device: seven times 24 bytes for a gather, 1/8 of what was gathered for a scatter.
    assert ("all_gather", 8, 168) in found and ("reduce_scatter", 8, 168) in found
    assert sharding["sent_bytes"] == sum(c["total_bytes"] for c in sharding["collectives"])


def test_loops_multiply_what_is_sent(folder, tmp_path):
    rows = report(folder / "map-x8-loops.jaxscope", tmp_path / "o.npz")["sharding"]["collectives"]
    found = [(c["kind"], c["bytes"], c["times"]) for c in rows]
    # A scan of three steps meets in pmean and psum, a branch once; of a while loop nobody knows.
    assert ("psum", 7, 3) in found and ("psum", 42, 3) in found and ("psum", 42, 1) in found and ("pmax", 7, None) in found, found


def test_memory_is_one_devices(folder, tmp_path):
    memory = report(folder / "pmap.jaxscope", tmp_path / "o.npz")["memory"]
    # f32[8,4] by its first dimension, f32[4] everywhere; f32[1,4] and i32[1] come out.
    assert memory["devices"] == 8 and memory["arguments"] == 16 + 16 and memory["outputs"] == 16 + 4
    assert len(memory["device_peaks"]) == 8 and max(memory["device_peaks"]) == memory["measured_peak"] >= 52


def test_what_stays_in_as_many_parts_is_permuted(folder, tmp_path):
    kinds = [c["kind"] for c in report(folder / "permuted.jaxscope", tmp_path / "o.npz")["sharding"]["collectives"]]
    assert kinds.count("ppermute") >= 3 and set(kinds) <= {"ppermute", "psum"}, kinds


def test_a_constraint_holds_for_its_operand_and_leaves_dimensions_open(folder, tmp_path):
    found = report(folder / "constrained.jaxscope", tmp_path / "o.npz")
    sharding = found["sharding"]
    # As in XLA: inputs of which nothing is said lie as what is made of them, whole where devices can't have equal parts.
    assert [(v["path"], v["spec"]) for v in sharding["inputs"]] == [("unsaid", "P('x', 'y')"), ("odd", "P()"), ("rows", "P('x')"), ("batch", "P('x')")]
    assert found["memory"]["arguments"] == 4 * (4 * 4 + 17 * 3 + 2 * 4 + 6 * 4)
    assert [v["spec"] for v in sharding["outputs"]] == ["P('x', 'y')", "P()", "P('x', 'y')", "P('x', None, 'y')", "P('x', 'y')"]
    # Nothing meets but for the result that is returned whole.
    assert [c["asked_by"] for c in sharding["collectives"]] == ["reduce_max"] and not [f for f in sharding["findings"] if f["kind"] == "computed-whole"], sharding
    kinds = {c["kind"] for c in report(folder / "sequence.jaxscope", tmp_path / "o.npz")["sharding"]["collectives"]}
    assert kinds == {"all_gather", "reduce_scatter"}  # not a sum of everything, of which each keeps a part


def test_results_lie_as_their_operations_say(folder, tmp_path):
    sharding = report(folder / "typed.jaxscope", tmp_path / "o.npz")["sharding"]
    assert {(c["kind"], tuple(c["axes"])) for c in sharding["collectives"]} == {("reduce_scatter", ("y",))}, sharding["collectives"]
    assert [v["spec"] for v in sharding["outputs"]] == ["P('x', 'y')"] * 2


def test_groups_of_a_convolution_are_cut(folder, tmp_path):
    sharding = report(folder / "grouped.jaxscope", tmp_path / "o.npz")["sharding"]
    assert sharding["findings"] == [] and {c["kind"] for c in sharding["collectives"]} == {"psum"}, sharding["collectives"]
    # The first kernel's gradient is a convolution of batch groups: each device has two of the eight.
    assert [(v["spec"], v["local"]) for v in sharding["values"] if v["aval"] == "f32[3,3,1,8]"] == [("P(None, None, None, 'y')", "f32[3,3,1,2]")]


def test_padding_is_counted_along_all_that_is_cut(folder, tmp_path):
    found = [f for f in report(next(folder.glob("jit-*-uneven.jaxscope")), tmp_path / "o.npz")["sharding"]["findings"] if f["kind"] == "padded"]
    assert found and all(f["bytes"] > 0 for f in found), found


def test_numbers_that_nobody_keeps_cost_nothing(folder, tmp_path):
    sharding = report(folder / "masked.jaxscope", tmp_path / "o.npz")["sharding"]
    assert [v for v in sharding["values"] if v["aval"] == "f32[8,256,256]"]
    assert not [v for v in sharding["values"] if v["aval"] == "f32[8,256,256]" and v["copies"] == 8]
    assert not [f for f in sharding["findings"] if f["kind"] == "replicated"]


@pytest.mark.parametrize("name, body", {
    "in_a_group": "jax.lax.while_loop(lambda c: c[0] < jax.lax.axis_index('y'), lambda c: (c[0] + 1, jax.lax.psum(c[1], 'y')), (0, v))[1]",
    "in_a_permute": "jax.lax.cond(jax.lax.axis_index('x') > 0, lambda v: jax.lax.ppermute(v, 'y', [(0, 1)]), lambda v: v, v)"}.items())
def test_devices_that_would_wait_forever_are_told(name, body, tmp_path):
    script = tmp_path / "apart.py"
    script.write_text("import os\nos.environ['XLA_FLAGS'] = '--xla_force_host_platform_device_count=8'\nimport jax, jax.numpy as jnp\n"
                      "from jax.sharding import PartitionSpec as P\n\n\ndef program():\n    mesh = jax.make_mesh((2, 4), ('x', 'y'), axis_types=(jax.sharding.AxisType.Auto,) * 2)\n"
                      f"    fn = jax.shard_map(lambda v: {body}, mesh=mesh, in_specs=P('x', 'y'), out_specs=P('x', 'y'), check_vma=False)\n"
                      "    return {'fn': fn, 'args': (jnp.ones((4, 4)),)}\n")
    made = subprocess.run([JAXSCOPE, "capture", f"{script}:program", "-o", str(tmp_path / "o.jaxscope"), "--python", sys.executable],
                          capture_output=True, text=True, timeout=120)
    assert made.returncode == 0, made.stderr
    done = run(tmp_path / "o.jaxscope", tmp_path / "o.npz")
    assert done.returncode == 3 and "expected all devices that meet in a" in done.stderr and "apart.py:9" in done.stderr, done.stderr


REFUSED = {
    "test_H_34_a_bare_spec": ("jax.lax.with_sharding_constraint(x, P('x'))", "with_sharding_constraint requires a non-empty mesh in context"),
    "test_H_34_a_rank_too_small": ("jax.lax.with_sharding_constraint(x[0], NamedSharding(mesh, P('x', 'y')))", "is only valid for values of rank at least 2, but was applied to a value of rank 1"),
    "test_H_35_sizes_that_dont_divide": ("jax.jit(lambda v: v * 2, in_shardings=NamedSharding(mesh, P('x')))(x[:3])", "implies that array axis 0 is partitioned 2 times, but the dimension size is 3"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_jax_refuses_is_told_in_its_words(name, tmp_path):
    """H-34, H-35: today's constraint and shardings of arguments, in programs that are captured."""
    expression, words = REFUSED[name]
    script = tmp_path / "refused.py"
    script.write_text("import os\nos.environ['XLA_FLAGS'] = '--xla_force_host_platform_device_count=8'\nimport jax, jax.numpy as jnp\n"
                      "from jax.sharding import NamedSharding, PartitionSpec as P\n\n\ndef program():\n"
                      "    mesh = jax.make_mesh((2, 4), ('x', 'y'), axis_types=(jax.sharding.AxisType.Auto,) * 2)\n"
                      f"    return {{'fn': lambda x: {expression}, 'args': (jnp.ones((4, 4)),)}}\n")
    done = subprocess.run([JAXSCOPE, "capture", f"{script}:program", "-o", str(tmp_path / "o.jaxscope"), "--python", sys.executable],
                          capture_output=True, text=True, timeout=120)
    assert done.returncode != 0 and words in done.stderr and 'refused.py", line 9' in done.stderr, done.stderr
    assert not (tmp_path / "o.jaxscope").exists()
