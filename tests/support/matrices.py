"""Big matrices, sampled: of a test function with more than `MOST` sets of parameters ./test.sh runs a share, by JAXSCOPE_SAMPLE (seed.py); --full, and who
runs a file by hand, run all. Lots are drawn for the parameters' text, so that most of what one function tries (a program by its name) others try as well: it is captured once.
Parameters that a failure named before can be asked for by their name: what is named on pytest's command line isn't sampled."""
import hashlib
import os

MOST = 8


def sample_matrices(config, items) -> None:
    seed = os.environ.get("JAXSCOPE_SEED") or os.environ.get("JAXSCOPE_SAMPLE")
    if not seed or os.environ.get("JAXSCOPE_FULL") or any("::" in a for a in config.args):
        return
    matrices: dict[str, list] = {}
    for item in items:
        matrices.setdefault(item.nodeid.split("[")[0], []).append(item)
    left = set()
    for cases in matrices.values():
        if len(cases) > MOST:
            by_lot = sorted(cases, key=lambda c: hashlib.sha256(f"{seed} {c.nodeid.partition('[')[2]}".encode()).digest())
            left |= {id(c) for c in by_lot[max(MOST, len(cases) // 3):]}
    if left:
        config.hook.pytest_deselected(items=[i for i in items if id(i) in left])
        items[:] = [i for i in items if id(i) not in left]
