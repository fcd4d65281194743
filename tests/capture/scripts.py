"""Scripts that users might write, most of them wrong in one way."""

GOOD = """
import argparse, os
argparse.ArgumentParser().parse_args()  # as scripts without a main guard do
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=3"
import jax, jax.numpy as jnp
def f(x, flag=False): return jnp.sin(x) if flag else jnp.cos(x) * jax.device_count()
def program(): return dict(fn=f, args=(jnp.ones(3),), names=["other", "keys"])
def no_mapping(): return 3
def half(): return dict(fn=f)
def fails(): return {}["missing"]
def raises_inside(): return dict(fn=lambda x: x + jnp.ones(4), args=(jnp.ones(3),))
def quits():
    import sys
    sys.exit(5)
def wants_words():
    words = argparse.ArgumentParser()
    words.add_argument("data")
    words.parse_args()
def step(state, batch, *, lr, scale=1.0): return state
def nothing(): return dict(fn=lambda x: None, args=(jnp.ones(3),))
def leaks():
    kept = []
    jax.jit(lambda x: kept.append(x) or x)(1.0)
    return dict(fn=lambda x: x + kept[0], args=(1.0,))
def endless():
    while True:
        try: pass
        except Exception: pass
def bad_donation(): return dict(fn=f, args=(jnp.ones(3),), donate_argnums=(7,))
def prints():
    print("noise")
    return program()
def hard_exit(): os._exit(7)
def crashes():
    import signal
    os.kill(os.getpid(), signal.SIGSEGV)
def leaves_children():
    import subprocess, sys
    pause = [sys.executable, "-c", "import time; time.sleep(120)", os.environ["CHILD_NAME"]]
    subprocess.Popen(pause)
    subprocess.Popen(pause, start_new_session=True)
    return program()
def forks():
    os.fork()
    return program()
def floods():
    for i in range(20_000): print("x" * 1000)
    raise ValueError("enough")
constant = 4
"""

TRAIN = """
import sys, jax, jax.numpy as jnp
from functools import partial
@partial(jax.jit, donate_argnums=0, static_argnames="lr")
def train_step(w, x, lr=0.1):
    return w - lr * jax.grad(lambda w: jnp.sum(jnp.tanh(x @ w)))(w)
@jax.jit
def outer(w): return inner(w)
@jax.jit
def inner(w): return w
w = jnp.ones((3, 3))
for i in range(3):
    w = train_step(w, jnp.full((2, 3), float(i)), lr=0.2)
    print("step", i, sys.argv[1:])
outer(w)
if "--fail" in sys.argv: raise RuntimeError("later")
"""
