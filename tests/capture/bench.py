"""How long capturing takes against JAX's own tracing: python tests/capture/bench.py FILE.py ...

Both are the best of three, with imports and first uses warmed up. The capture includes the second, marked tracing, the
traced rules and writing the file.
"""
import importlib.util
import os
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "app", "capture"))


def load(path):
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    spec = importlib.util.spec_from_file_location("jaxscope_program", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return dict(module.program())


def best(f, times=3):
    took = []
    for _ in range(times):
        start = time.perf_counter()
        f()
        took.append(time.perf_counter() - start)
    return min(took)


def measure(path):
    mapping = load(path)
    import jax
    from jaxscope import api, compat, program
    p = program.make_program(mapping.pop("fn"), mapping.pop("args"), mapping.pop("kwargs", None), **mapping)
    flat = program.flatten(p)

    def trace():
        with compat.fresh_traces():
            jax.make_jaxpr(lambda *a, **k: flat.traced(*a, **k), static_argnums=flat.static_argnums)(*flat.traced_args, **flat.traced_kwargs)

    def capture():
        with compat.fresh_traces(), tempfile.TemporaryDirectory() as folder:
            captured = api.capture_program(p, values="none")
            captured.save(os.path.join(folder, "a.jaxscope"))
            return captured
    trace()
    equations = capture().equations
    tracing, capturing = best(trace), best(capture)
    print(f"{os.path.basename(path):40} {equations:6} equations   JAX traces in {tracing:.3f} s   captured in {capturing:.3f} s   {capturing / tracing:.1f}x")


if __name__ == "__main__":
    if len(sys.argv) == 2:
        measure(sys.argv[1])
    for path in sys.argv[1:] if len(sys.argv) > 2 else []:
        # One process each: programs set flags, and a module stays imported.
        os.spawnv(os.P_WAIT, sys.executable, [sys.executable, os.path.abspath(__file__), path])
