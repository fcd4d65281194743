"""Which programs of the foresight corpus the model of fusion wasn't fitted to."""
from __future__ import annotations

import hashlib

FITTED_BEFORE = {"gpt", "lstm"}  # gpt_f32, gpt_bf16 and lstm_f32 shaped the first model


def held_out(name: str) -> bool:
    """All types and policies of a program, by its name alone; it was decided before anything was estimated."""
    program = name.split("_")[0]
    return program not in FITTED_BEFORE and hashlib.sha256(program.encode()).digest()[0] % 2 == 1
