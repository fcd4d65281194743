"""What a reader may rely on in a capture, beyond its schema: indices in range, references backwards, types that agree."""


def check(document):
    """Raises AssertionError naming the place."""
    d = document
    sizes = {k: len(d[k]) for k in ("strings", "avals", "files", "frames", "tracebacks", "name_stacks", "sources", "contexts",
                                    "literals", "arrays", "params", "jaxprs", "custom_rules")}
    for i, f in enumerate(d["frames"]):
        assert 0 <= f[0] < sizes["files"] and 0 <= f[5] < sizes["strings"], f"frames[{i}]"
    for i, t in enumerate(d["tracebacks"]):
        assert all(0 <= k < sizes["frames"] for k in t), f"tracebacks[{i}]"
    for i, (trace, stack, *_) in enumerate(d["sources"]):
        assert (trace is None or 0 <= trace < sizes["tracebacks"]) and 0 <= stack < sizes["name_stacks"], f"sources[{i}]"
    for i, j in enumerate(d["jaxprs"]):
        _jaxpr(d, sizes, i, j)
    for i, r in enumerate(d["custom_rules"]):
        assert (r["jaxpr"] is None) == ("why" in r), f"custom_rules[{i}]"
        if r["jaxpr"] is not None:
            _rule(d, i, r)
    _program(d)
    for i, r in enumerate(d["regions"]):
        _region(d, i, r)


def refs(value):
    """(key, index) of every reference inside a parameter."""
    if isinstance(value, dict):
        for key in ("jaxpr", "closed_jaxpr", "array", "rule", "aval"):
            if isinstance(value.get(key), int):
                yield key, value[key]
        for v in value.values():
            yield from refs(v)
    elif isinstance(value, list):
        for v in value:
            yield from refs(v)


def _jaxpr(d, sizes, number, j):
    types = [*j["constvars"], *j["invars"]]
    assert "consts" not in j or len(j["consts"]) == len(j["constvars"]), f"jaxprs[{number}].consts"
    assert len(j["arg_names"]) in (0, len(j["invars"])), f"jaxprs[{number}].arg_names"
    for k, (primitive, inputs, results, params, source, context, *_) in enumerate(j["eqns"]):
        where = f"jaxprs[{number}].eqns[{k}]"
        assert 0 <= primitive < sizes["strings"] and 0 <= params < sizes["params"], where
        assert 0 <= source < sizes["sources"] and 0 <= context < sizes["contexts"], where
        assert all(-sizes["literals"] <= v < len(types) for v in inputs), where
        for key, index in refs(list(d["params"][params].values())):
            table = {"jaxpr": "jaxprs", "closed_jaxpr": "jaxprs", "array": "arrays", "rule": "custom_rules", "aval": "avals"}[key]
            assert 0 <= index < (number if table == "jaxprs" else sizes[table]), f"{where}: {key} {index}"
        types += [t if t >= 0 else -1 - t for t in results]
    assert all(0 <= t < sizes["avals"] for t in types), f"jaxprs[{number}]"
    assert all(-sizes["literals"] <= v < len(types) for v in j["outvars"]), f"jaxprs[{number}].outvars"


def _rule(d, i, r):
    j = d["jaxprs"][r["jaxpr"]]
    n = len(r["avals"])
    closed = len(r.get("closed_over", ()))
    if r["kind"] == "custom_jvp":
        assert len(j["invars"]) == closed + n + sum(r["perturbed"]), f"custom_rules[{i}]: {len(j['invars'])} inputs"
        assert len(j["outvars"]) == 2 * len(r["out_zeros"]) - sum(r["out_zeros"]), f"custom_rules[{i}]"
    elif r["kind"] == "custom_vjp_fwd":
        assert len(j["invars"]) == closed + n, f"custom_rules[{i}]"
    elif r["kind"] == "custom_vjp_bwd":
        assert len(r["out_zeros"]) == n and len(j["outvars"]) == n - sum(r["out_zeros"]), f"custom_rules[{i}]"


    elif r["kind"] == "primitive":
        assert len(j["invars"]) == closed + n and "variant_of" not in r, f"custom_rules[{i}]"
    elif r["kind"].startswith("primitive_"):
        _library_rule(d, i, r, j, n, closed)


def _library_rule(d, i, r, j, n, closed):
    where = f"custom_rules[{i}]"
    head = d["custom_rules"][r["variant_of"]]
    assert head["kind"] == "primitive" and head["function"] == r["function"] and head["avals"] == r["avals"], where
    if r["kind"] == "primitive_jvp":
        assert len(j["invars"]) == closed + n + sum(r["perturbed"]), where
        assert len(j["outvars"]) == 2 * len(r["out_zeros"]) - sum(r["out_zeros"]), where
    elif r["kind"] == "primitive_transpose":
        linear = sum(r["perturbed"])
        assert len(j["invars"]) == closed + n - linear + r["zero_cotangents"].count(False), where
        assert len(r["out_zeros"]) == linear and len(j["outvars"]) == r["out_zeros"].count(False), where
    elif r["kind"] == "primitive_known":
        assert len(j["invars"]) == closed + n, where
    elif r["kind"] == "primitive_linear":
        assert len(j["invars"]) >= closed + sum(r["perturbed"]) and len(j["outvars"]) == r["out_zeros"].count(False), where
    else:
        assert len(r["in_dims"]) == len(j["invars"]) - closed == n and len(r["out_dims"]) == len(j["outvars"]), where


def _program(d):
    p, j = d["program"], d["jaxprs"][d["program"]["jaxpr"]]
    for key in ("in_paths", "arg_of_input", "donated", "kept", "values"):
        assert len(p[key]) == len(j["invars"]), f"program.{key}"
    assert len(p["out_paths"]) == len(j["outvars"]), "program.out_paths"
    assert all(0 <= a < len(p["arg_names"]) for a in p["arg_of_input"]), "program.arg_of_input"
    if d["marked"] is not None:
        m = d["jaxprs"][d["marked"]["jaxpr"]]
        types = d["avals"]
        assert m["invars"] == j["invars"], "marked"
        assert len(m["outvars"]) == len(j["outvars"]), "marked"
        assert types is not None


def marked_calls(d):
    """name -> [(equation, jaxpr entry)] of the marked program, wherever they stand."""
    out, seen, todo = {}, set(), [d["marked"]["jaxpr"]] if d["marked"] else []
    while todo:
        n = todo.pop()
        if n in seen:
            continue
        seen.add(n)
        for e in d["jaxprs"][n]["eqns"]:
            params = d["params"][e[3]]
            name = params.get("name")
            if isinstance(name, str) and name.startswith("jaxscope_"):
                out.setdefault(name, []).append((e, d["jaxprs"][params["jaxpr"]["closed_jaxpr"]]))
            todo += [i for k, i in refs(list(params.values())) if k in ("jaxpr", "closed_jaxpr")]
    return out


def _region(d, i, r):
    j = d["jaxprs"][r["jaxpr"]]
    where = f"regions[{i}]"
    for key in ("in_paths", "arg_of_input", "wrt_inputs"):
        assert len(r[key]) == len(j["invars"]), f"{where}.{key}"
    assert all(0 <= a < len(r["arg_names"]) for a in r["arg_of_input"]), where
    assert 0 < r["outputs"] <= len(j["outvars"]), where
    assert r["parent"] is None or r["parent"] < i, where
    assert {r["arg_of_input"][k] for k, w in enumerate(r["wrt_inputs"]) if w} <= set(r["wrt"]), where
    if r["mark"] is None:
        assert r["why_unmarked"], where
        return
    calls = marked_calls(d)
    mapped = {c["jaxpr"]: c["batch"] for c in d["marked"].get("calls", [])}  # older captures don't list them
    forward = calls[f"jaxscope_forward_{r['mark']}"]
    for eqn, fj in forward:
        levels = mapped.get(d["params"][eqn[3]]["jaxpr"]["closed_jaxpr"], [])
        assert [_unmapped(d, a, [l["in"][k] for l in levels]) for k, a in enumerate(fj["invars"])] == \
            [d["avals"][a][:2] for a in j["constvars"] + j["invars"]], f"{where}: forward inputs"
    fj = forward[0][1]
    n_res = len(fj["outvars"]) - len(j["outvars"])
    assert n_res >= 0, where
    for eqn, bj in calls[f"jaxscope_backward_{r['mark']}"]:
        assert len(bj["invars"]) == len(eqn[1]) == n_res + _cotangents(d, j, r, bj, n_res), f"{where}: backward inputs"
        wanted = [j["invars"][k] for k, w in enumerate(r["wrt_inputs"]) if w]
        inexact = [t for t in wanted if d["avals"][t][0].startswith(("float", "bfloat", "complex"))]
        assert [d["avals"][t][:2] for t in eqn[2] if t >= 0] == [d["avals"][t][:2] for t in inexact][:len(eqn[2])] or \
            len(eqn[2]) == len(inexact), f"{where}: backward outputs"


def _unmapped(d, aval, axes):
    """dtype and shape without the axes that vmaps made, the last one first."""
    dtype, shape = d["avals"][aval][0], list(d["avals"][aval][1])
    for axis in reversed(axes):
        if axis is not None:
            del shape[axis]
    return [dtype, shape]


def _cotangents(d, j, r, bj, n_res):
    """One for each output with a tangent space that depends on what is differentiated."""
    n = len(bj["invars"]) - n_res
    assert 0 <= n <= r["outputs"]
    return n
