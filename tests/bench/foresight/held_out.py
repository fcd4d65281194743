"""Which programs of the foresight corpus the model of fusion wasn't fitted to."""
from __future__ import annotations

import hashlib

FITTED_BEFORE = {"gpt", "lstm"}  # gpt_f32, gpt_bf16 and lstm_f32 shaped the first model
# Held out at first; later XLA's assignments of these were read, and the model was changed for what some of them showed.
READ_SINCE = {"densenet", "dit", "gptodd", "graphattention", "haikugru", "haikuresnet", "ppo", "prefill", "recurrence", "translator", "unetsmall"}
# Of whole.py: which of two equal steps the list scheduler takes was chosen with all of their errors in sight.
SEEN = {"wholegpt", "wholerotary", "wholevit", "wholemixer"}
# Of windows.py: its scores' layouts changed the model.
SEEN |= {"swin"}
# Of later.py and windows.py: these came when the model stood, and nothing was changed for any of them.
BLIND = {"bert", "mobilenet", "wavenet", "mamba", "recommender", "radiance", "t5", "conformer", "perceiver"}


def held_out(name: str) -> bool:
    """All types and policies of a program, by its name alone; it was decided before anything was estimated."""
    program = name.split("_")[0]
    if program in BLIND:
        return True
    return program not in FITTED_BEFORE | READ_SINCE | SEEN and hashlib.sha256(program.encode()).digest()[0] % 2 == 1
