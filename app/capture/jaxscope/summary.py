# SPDX-License-Identifier: Apache-2.0
"""What a notebook shows for a capture: what is in it, without running anything."""
from __future__ import annotations

import html
from typing import Any

_ROWS = 12


def summary(document: dict[str, Any], equations: int) -> str:
    def aval(i: int) -> str:
        a = document["avals"][i]
        return f"{a[0]}[{','.join(map(str, a[1]))}]" if isinstance(a, list) else next(iter(a.values()))

    def row(*cells: str) -> str:
        return "<tr>" + "".join(f'<td style="text-align:left">{html.escape(c)}</td>' for c in cells) + "</tr>"
    program = document["program"]
    types = document["jaxprs"][program["jaxpr"]]["invars"]
    inputs = [row(path, aval(t), "donated" if d else "") for path, t, d in zip(program["in_paths"], types, program["donated"])]
    if len(inputs) > _ROWS:
        inputs[_ROWS:] = [row(f"... {len(inputs) - _ROWS} more", "", "")]
    regions = [row(r["name"], r["kind"], f"by {', '.join(r['arg_names'][i] for i in r['wrt'])}") for r in document["regions"][:_ROWS]]
    head = f"<b>{html.escape(document['name'])}</b>: {equations} equations, JAX {html.escape(document['producer']['jax'])}"
    tables = [f"<p>{title}</p><table>{''.join(rows)}</table>" for title, rows in (("Inputs", inputs), ("Differentiated inside", regions)) if rows]
    return f"<div><p>{head}</p>{''.join(tables)}</div>"
