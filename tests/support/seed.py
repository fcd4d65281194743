"""The seed of a random sample: JAXSCOPE_SEED repeats one; else JAXSCOPE_SAMPLE, which ./test.sh makes of the commit (the same commit fails in the same way
everywhere, the next one tries other programs); else one by chance. Always printed."""
import os
import random


def seed_of_sample() -> int:
    seed = int(os.environ.get("JAXSCOPE_SEED") or os.environ.get("JAXSCOPE_SAMPLE") or random.randrange(1 << 20))
    print(f"JAXSCOPE_SEED={seed}")
    return seed
