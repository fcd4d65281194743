#!/usr/bin/env python3
"""FSDP, tensor parallelism and a pipeline of one large model, on paper: captures its steps (tests/differential/sharded_transformer.py, of arrays that aren't
there), plans each for one device, and prints the table of docs/layouts.md.   compare_layouts.py JAXSCOPE"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
NAMES = {"all": "FSDP over 256", "fsdp": "FSDP over 16, tensor parallel over 16", "tensor": "tensor parallel over 16, data parallel over 16",
         "pipeline": "pipeline of 16 stages, data parallel over 16"}
GIB = 2**30


def planned(jaxscope, path):
    begin = time.monotonic()
    done = subprocess.run([jaxscope, "plan", str(path), "--json"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout), time.monotonic() - begin


def row(name, plan, seconds):
    memory, sharding = plan["memory"], plan["sharding"]
    sent = {}
    for c in sharding["collectives"]:
        key = f"{c['kind']} over {', '.join(c['axes'])}"
        sent[key] = sent.get(key, 0) + c["total_bytes"]
    most = max(sent.items(), key=lambda item: item[1])
    held = memory["at_peak"][0]
    return (f"| {NAMES[name]} | {memory['arguments'] / GIB:.2f} | {memory['planned_peak'] / GIB:.1f} | {held['aval']}: {held['bytes'] / GIB:.1f} | "
            f"{sharding['sent_bytes'] / GIB:.0f} | {most[0]}: {most[1] / GIB:.0f} | {len(sharding['collectives'])} | {seconds:.1f} |")


def table(jaxscope, folder):
    lines = ["| layout | parameters and tokens | planned peak | largest at the peak | sent in a step | most of it | collectives | planned in (s) |",
             "|---|---|---|---|---|---|---|---|"]
    return "\n".join(lines + [row(name, *planned(jaxscope, folder / f"{name}.jaxscope")) for name in NAMES])


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        environment = dict(os.environ, JAX_PLATFORMS="cpu", PYTHONPATH=str(ROOT / "app" / "capture"))
        subprocess.run([sys.executable, ROOT / "tests" / "differential" / "sharded_transformer.py", made], check=True, env=environment)
        print(table(sys.argv[1] if len(sys.argv) > 1 else "jaxscope", pathlib.Path(made)))
