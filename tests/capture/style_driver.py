"""python style_driver.py FILE OUT: captures FILE's program(), and prints what JAX says of it: its text, and the residuals of the loss inside."""
import importlib.util
import inspect
import json
import os
import sys


def load(path):
    sys.path.insert(0, os.path.dirname(path))
    name = os.path.basename(path)[:-3]
    spec = importlib.util.spec_from_file_location(name, path)
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def text(p):
    import jax
    if hasattr(p["fn"], "_fun") or "equinox" in type(p["fn"]).__module__:
        return None  # the program is fn over its array leaves
    names = list(inspect.signature(p["fn"]).parameters)
    static = [i for i, a in enumerate(p["args"]) if isinstance(a, int)]
    fixed = {k: v for k, v in p.get("kwargs", {}).items() if k in names}
    return str(jax.make_jaxpr(lambda *a: p["fn"](*a, **fixed), static_argnums=static)(*p["args"]))


def residuals(found):
    if found is None:
        return None
    from jax._src.ad_checkpoint import saved_residuals
    f, args, options = found
    scalar = (lambda w: f(w, *args[1:])[0]) if options.get("has_aux") else (lambda w: f(w, *args[1:]))
    return [[a.str_short(short_dtypes=True), s] for a, s in saved_residuals(scalar, args[0]) if s != "from a literal"]


def main(path, out):
    module = load(path)
    p = module.program()
    from jaxscope import api, program
    from jaxscope.document.tables import Paths
    known = dict(p)
    captured = api.capture_program(program.make_program(known.pop("fn"), known.pop("args"), known.pop("kwargs", None), **known), values="all")
    captured.save(out, compress=False)
    paths = Paths(os.path.dirname(path))
    rows, jaxpr = residuals(module.loss_program()), text(p)
    print(json.dumps({"residuals": rows and [[a, paths.in_text(s)] for a, s in rows], "text": jaxpr and paths.in_text(jaxpr)}))


main(os.path.abspath(sys.argv[1]), sys.argv[2])
