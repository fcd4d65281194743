"""Big matrices, sampled: of a test function with more than `MOST` sets of parameters ./test.sh runs a share, by JAXSCOPE_SAMPLE (seed.py); --full, and who
runs a file by hand, run all. Parameters that a failure named before can be asked for by their name: what is named on pytest's command line isn't sampled."""
import os
import random

MOST = 8


def sample_matrices(config, items) -> None:
    seed = os.environ.get("JAXSCOPE_SEED") or os.environ.get("JAXSCOPE_SAMPLE")
    if not seed or os.environ.get("JAXSCOPE_FULL") or any("::" in a for a in config.args):
        return
    matrices: dict[str, list] = {}
    for item in items:
        matrices.setdefault(item.nodeid.split("[")[0], []).append(item)
    left = set()
    for name, cases in matrices.items():
        if len(cases) > MOST:
            kept = random.Random(f"{seed} {name}").sample(cases, max(MOST, len(cases) // 3))
            left |= {id(c) for c in cases} - {id(c) for c in kept}
    if left:
        config.hook.pytest_deselected(items=[i for i in items if id(i) in left])
        items[:] = [i for i in items if id(i) not in left]
