"""Ctrl-C at sampled moments of each command on a program of a million equations: under a second, exit code 130, nothing left behind."""
import os
import random
import signal
import subprocess
import time

import pytest
from seed import seed_of_sample

from conftest import BINARY

pytestmark = pytest.mark.alone
EQUATIONS = 1_000_000
MOMENTS = 10 if os.environ.get("JAXSCOPE_FULL") else 2
SEED = seed_of_sample()

COMMANDS = [
    ["inspect", "big.jaxscope"],
    ["print", "big.jaxscope"],
    ["transform", "big.jaxscope", "--apply", "jvp", "-o", "out.jaxscope"],
    ["residuals", "big.jaxscope"],
    ["split", "big.jaxscope", "--json"],
    ["donation", "big.jaxscope"],
    ["plan", "big.jaxscope"],
    ["run", "big.jaxscope", "--repeat", "1000"],
    ["policies", "big.jaxscope"],
    ["export", "big.jaxscope", "-o", "out.html"],
    ["report", "big.jaxscope", "--json"],
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """sin, cos, mul, add in turn, each of the value before it, now and then of an older one; jitted calls in between."""
    eqns, last = [], 1
    for i in range(EQUATIONS):
        skip = last - (40 if last > 40 and i % 20 == 0 else 1)
        if i % 100 == 99:
            eqns.append(f"[4,[{last}],[0],2,{i % 1000}]")
        elif i % 4 < 2:
            eqns.append(f"[{3 if i % 4 else 0},[{last}],[0],1,{i % 1000}]")
        else:
            eqns.append(f"[{1 if i % 4 == 2 else 2},[{last},{skip}],[0],0,{i % 1000}]")
        last += 1
    lines = range(1000)
    text = (
        '{"format":"jaxscope.capture","version":1,"producer":{"jaxscope":"0.1.0","jax":"0.10.2","jaxlib":"0.10.2","python":"3.11"},"name":"big","flags":{},'
        '"strings":["sin","mul","add","cos","jit","x","f","jvp"],"avals":[["float32",[8,16]]],"files":[{"path":"big.py","project":true}],'
        f'"frames":[{",".join(f"[0,{i + 1},4,{i + 1},20,6]" for i in lines)}],"tracebacks":[{",".join(f"[{i}]" for i in lines)}],"name_stacks":[""],'
        f'"sources":[{",".join(f"""[{i},0,"big.py:{i + 1}:4 (f)"]""" for i in lines)}],"contexts":[{{}}],"literals":[],"arrays":[],'
        '"params":[{},{"accuracy":null},{"ctx_mesh":null,"donated_invars":[false],"in_layouts":[null],"in_shardings":[null],"inline":false,'
        '"jaxpr":{"closed_jaxpr":0},"keep_unused":false,"name":"f","out_layouts":[null],"out_shardings":[null]}],'
        '"jaxprs":[{"name":"f","constvars":[],"consts":[],"invars":[0],"eqns":[[0,[0],[0],1,0],[1,[1,0],[0],0,1]],"outvars":[2]},'
        f'{{"name":"big","constvars":[],"consts":[],"invars":[0,0],"eqns":[{",".join(eqns)}],"outvars":[{last}]}}],"custom_rules":[],'
        '"program":{"jaxpr":1,"in_paths":["x","y"],"out_paths":[""],"arg_of_input":[0,1],"arg_names":["x","y"],"donated":[false,false],"kept":[true,true],'
        '"static":[],"differentiate":[0],"has_aux":false,"jit":"jax","in_shardings":null,"out_shardings":null,"donate_warnings":[],"values":[null,null]},'
        '"marked":null,"regions":[],"xla":null}')
    path = tmp_path_factory.mktemp("cancel")
    (path / "big.jaxscope").write_text(text)
    return path


def start_seconds() -> float:
    begin = time.monotonic()
    subprocess.run([BINARY, "--version"], stdout=subprocess.DEVNULL, check=True)
    return time.monotonic() - begin


@pytest.mark.parametrize("args", COMMANDS, ids=[c[0] for c in COMMANDS])
def test_ctrl_c_at_any_moment(folder, args):
    rng = random.Random(SEED)
    for _ in range(MOMENTS):
        after = rng.choice([rng.uniform(0.05, 1.5), rng.uniform(0.5, 8)])
        p = subprocess.Popen([BINARY, *args], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            p.wait(after)
        except subprocess.TimeoutExpired:
            p.send_signal(signal.SIGINT)
        begin = time.monotonic()
        _, error = p.communicate(timeout=30)
        took = time.monotonic() - begin
        where = f"seed {SEED}, {args} after {after:.2f} s: {p.returncode}, {took:.2f} s later\n{error[-500:]}"
        print(where)
        assert p.returncode in (0, 130), where
        assert took < 1 + 2 * start_seconds(), where
        if p.returncode == 130:
            assert error.splitlines()[-1:] == ["jaxscope: cancelled [cancelled]"], where
            assert [f for f in os.listdir(folder) if f.startswith("out")] == [], where
        for made in folder.glob("out.*"):
            made.unlink()
