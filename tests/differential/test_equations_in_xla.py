"""What `capture --compile` says XLA made of the equations, against what stands in the HLO text of the same function compiled without us."""
import json
import re
import subprocess
from collections import Counter

import jax
import jax.numpy as jnp
import pytest

from conftest import jaxscope_binary

import jaxscope

WS = [dict(a=jnp.full((32, 64), .01), b=jnp.full((64, 32), .01)) for _ in range(6)]
X = jnp.ones((16, 32))


def perceptrons(prevent_cse):
    def block(p, x):
        return x + jnp.tanh(x @ p["a"]) @ p["b"]

    def loss(ws, x):
        for p in ws:
            x = jax.checkpoint(block, prevent_cse=prevent_cse)(p, x)
        return jnp.mean(x * x)
    return lambda ws, x: jax.value_and_grad(loss)(ws, x), (WS, X)


def scanned():
    def loss(ws, x):
        body = jax.checkpoint(lambda c, w: (jnp.tanh(c @ w), None))
        return (jax.lax.scan(body, x, ws)[0] ** 2).mean()
    return lambda ws, x: jax.value_and_grad(loss)(ws, x), (jnp.full((12, 32, 32), .01), X)


def transformer():
    nn = pytest.importorskip("flax.linen")

    class Block(nn.Module):
        @nn.compact
        def __call__(self, x):
            x = x + nn.SelfAttention(num_heads=4)(nn.LayerNorm()(x))
            return x + nn.Dense(32)(nn.gelu(nn.Dense(64)(nn.LayerNorm()(x))))

    class Model(nn.Module):
        @nn.compact
        def __call__(self, x):
            for i in range(3):
                x = nn.remat(Block)(name=f"block_{i}")(x)
            return x
    model, x = Model(), jnp.ones((4, 8, 32))
    params = model.init(jax.random.key(0), x)

    def step(params, x):
        value, grads = jax.value_and_grad(lambda p: (model.apply(p, x) ** 2).mean())(params)
        return value, jax.tree.map(lambda p, g: p - .1 * g, params, grads)
    return step, (params, x)


def called_by_call():
    """One jitted function at two places, branches, and a product whose transposition XLA folds into it."""
    inner = jax.jit(lambda x, w: jnp.sin(x @ w))

    def fn(x, w):
        y = inner(inner(x, w), w + 1)
        return jax.lax.cond(y.sum() > 0, lambda y: jnp.cos(y).T, lambda y: jnp.exp(y @ w).T, y)
    return fn, (X[:, :16], jnp.ones((16, 16)))


PROGRAMS = {"perceptrons": lambda: perceptrons(True), "perceptrons without barriers": lambda: perceptrons(False), "scan": scanned, "transformer": transformer,
            "calls": called_by_call}


def found(make, folder):
    """What `inspect` says of the equations, and the instructions of XLA's program: (opcode, op_name) counted, those of fusions too."""
    fn, args = make()
    captured = jaxscope.capture(fn, compile=True, values="none")(*args)
    path = captured.save(str(folder / "x.jaxscope"))
    done = subprocess.run([jaxscope_binary(), "inspect", path, "--json"], capture_output=True, text=True, check=True)
    (said,) = json.loads(done.stdout)["program"]["compiled_equations"]
    text = jax.jit(fn).lower(*args).compile().as_text()
    instructions = Counter()
    for opcode, name in re.findall(r'^ .*? = .*? ([a-z][a-z-]*)\(.*?op_name="([^"]*)"', text, re.M):
        instructions[opcode, name] += 1
    return captured.document, said, instructions, text


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_instruction_is_counted_once(name, tmp_path):
    """By opcode they are those of the same program compiled without names of ours."""
    document, said, _, text = found(PROGRAMS[name], tmp_path)
    kept = document["xla"]["operations"]
    counted = Counter()
    for body in kept["jaxprs"]:
        for _, opcode, count, _, _ in body["rows"]:
            counted[kept["opcodes"][opcode]] += count
    everything = Counter(re.findall(r"^ .*? = .*? ([a-z][a-z-]*)\(", text, re.M))
    for opcode in ("dot", "tanh", "exponential", "sine", "cosine", "fusion", "subtract", "divide", "while", "reduce"):
        unnamed = everything[opcode] - counted[opcode]
        assert 0 <= unnamed <= kept["unnamed"], opcode
    for opcode in ("dot", "tanh", "exponential", "sine", "cosine", "subtract"):
        assert counted[opcode] == everything[opcode], opcode
    assert said["unknown"] == "" and not re.search(r"jxs-", json.dumps({**document, "files": []}))


@pytest.mark.parametrize("name", ["perceptrons", "perceptrons without barriers", "scan", "transformer"])
def test_recomputation_that_is_left(name, tmp_path):
    _, said, instructions, _ = found(PROGRAMS[name], tmp_path)
    of = Counter()
    for line in said["lines"]:
        r = line["recomputed"]
        assert r["asked"] == r["kept"] + r["merged"] + r["removed"] > 0
        of[line["primitive"]] += r["kept"]
    for primitive, opcode in (("dot_general", "dot"), ("tanh", "tanh")):
        there = sum(n for (o, op_name), n in instructions.items() if o == opcode and "rematted_computation" in op_name)
        # Had XLA kept the second computation instead of the first, its name would say recomputed: not in these programs.
        assert of[primitive] == there, primitive
    asked = Counter()
    for c in said["checkpoints"]:
        asked["checkpoints"] += len(c["equations"])
        asked["equations"] += len(c["equations"]) * c["recomputed"]["asked"]
    assert asked["equations"] == sum(line["recomputed"]["asked"] for line in said["lines"])
    assert asked["checkpoints"] == {"scan": 1, "transformer": 3}.get(name, 6)


def test_blocks_have_their_names(tmp_path):
    """Which of the transformer's blocks XLA computes a second time, block by block."""
    _, said, instructions, _ = found(PROGRAMS["transformer"], tmp_path)
    kept = {}
    for c in said["checkpoints"]:
        assert len(c["scopes"]) == len(c["equations"])
        kept.update(dict.fromkeys(c["scopes"], c["recomputed"]["flops_kept"] / c["recomputed"]["flops"]))
    there = Counter()
    for (opcode, op_name), n in instructions.items():
        block = re.search(r"rematted_computation/(block_\d)/SelfAttention", op_name)
        if opcode == "dot" and block:
            there[block[1]] += n
    assert set(kept) == {"block_0", "block_1", "block_2"}
    for block, share in kept.items():
        assert (there[block] == 6) == (share > .9), (block, share, there)
    assert len({there[block] for block in kept}) > 1  # else nothing would be told apart


def test_sentences(tmp_path):
    path = jaxscope.capture(perceptrons(False)[0], compile=True, values="none")(WS, X).save(str(tmp_path / "x.jaxscope"))
    said = "merged the recomputation of 6 checkpoints at"
    for command in ("plan", "residuals", "export", "check"):
        more = ["-o", str(tmp_path / "x.csv")] if command == "export" else []
        done = subprocess.run([jaxscope_binary(), command, path, *more], capture_output=True, text=True)
        assert done.returncode == 0 and (said in done.stderr) == (command in ("plan", "residuals")), command
        assert ("of 2 equations in each 2 are computed once" in done.stderr) == (command in ("plan", "residuals"))
    page = " ".join(subprocess.run([jaxscope_binary(), "inspect", path], capture_output=True, text=True, check=True).stdout.split())
    assert said in page and "dot_general 6 0 6 0" in page and "tanh 6 0 6 0" in page
    path = jaxscope.capture(scanned()[0], compile=True, values="none")(*scanned()[1]).save(str(tmp_path / "y.jaxscope"))
    done = subprocess.run([jaxscope_binary(), "plan", path], capture_output=True, text=True, check=True)
    assert "XLA" not in done.stderr  # it did as it was asked to


def test_programs_made_of_a_captured_one_are_not_what_was_compiled(tmp_path):
    path = jaxscope.capture(lambda x: jnp.sin(x).sum(), compile=True, values="none")(X).save(str(tmp_path / "x.jaxscope"))
    made = str(tmp_path / "made.jaxscope")
    subprocess.run([jaxscope_binary(), "transform", path, "--apply", "grad", "-o", made], check=True, capture_output=True)
    done = subprocess.run([jaxscope_binary(), "inspect", made, "--json"], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["program"]["compiled_equations"] == []


def test_programs_whose_equations_are_not_those_compiled(tmp_path):
    """References are discharged in captures, and not in what jit lowers: said, and everything else is there."""
    new_ref = getattr(jax, "new_ref", None) or getattr(jax.experimental, "mutable_array", None)
    if new_ref is None:
        pytest.skip("this JAX has no references")

    def fn(x):
        r = new_ref(x)
        r[...] += jnp.sin(x)
        return r[...]
    document, said, _, _ = found(lambda: (fn, (X,)), tmp_path)
    assert "isn't the captured program" in said["unknown"] and document["xla"]["memory_analysis"]


def test_products_that_are_named_by_what_follows(tmp_path):
    """XLA folds `.T` into the product and calls it transpose: under a checkpoint the product is there all the same."""
    def block(x, w):
        return jnp.sin((x @ w).T)

    def fn(w, x):
        body = jax.checkpoint(lambda c, w: (block(c, w), None))
        return (jax.lax.scan(body, x, w)[0] ** 2).sum()
    _, said, _, _ = found(lambda: (jax.value_and_grad(fn), (jnp.full((5, 16, 16), .1), X[:, :16])), tmp_path)
    (product,) = (line["recomputed"] for line in said["lines"] if line["primitive"] == "dot_general")
    assert (product["asked"], product["kept"]) == (1, 1)


def test_a_product_that_kept_the_recomputations_name_is_merged(tmp_path):
    """Of two equal products XLA may keep the second one's name: what is computed twice is what there is beyond one of each."""
    hk = pytest.importorskip("haiku")

    def net(x):
        x = hk.Conv2D(32, 3)(x)
        for width in (32, 64, 128):
            def block(x, width=width):
                y = jax.nn.relu(hk.BatchNorm(True, True, 0.9)(hk.Conv2D(width, 3, stride=2)(x), True))
                y = hk.BatchNorm(True, True, 0.9)(hk.Conv2D(width, 3)(y), True)
                return jax.nn.relu(y + hk.Conv2D(width, 1, stride=2)(x))
            x = hk.remat(block)(x)
        return hk.Linear(10)(x.mean((1, 2)))
    model, x = hk.transform_with_state(net), jnp.ones((32, 32, 32, 3))
    params, state = model.init(jax.random.key(0), x)

    def step(params, state, x):
        def loss(params):
            out, after = model.apply(params, state, None, x)
            return (out ** 2).mean() + 1e-4 * sum(jnp.sum(p ** 2) for p in jax.tree.leaves(params)), after
        (value, after), grads = jax.value_and_grad(loss, has_aux=True)(params)
        return jax.tree.map(lambda p, g: p - .1 * g, params, grads), after, value
    _, said, instructions, _ = found(lambda: (step, (params, state, x)), tmp_path)
    of = Counter()
    for line in said["lines"]:
        if line["primitive"] == "conv_general_dilated":
            of.update({k: line["recomputed"][k] for k in ("asked", "kept", "merged")})
    first = sum(n for (o, name), n in instructions.items() if o == "convolution" and "transpose(" not in name)
    second = sum(n for (o, name), n in instructions.items() if o == "convolution" and "rematted_computation" in name)
    assert of["asked"] == of["kept"] + of["merged"] and of["kept"] == first + second - 10, (of, first, second)
    assert first < 10 and second > of["kept"]  # XLA did it here; else this test is of nothing
