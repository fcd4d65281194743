# SPDX-License-Identifier: Apache-2.0
"""FILE OUT: a file of jax.export as StableHLO text, with the names and lines that stand in it."""
from __future__ import annotations

import sys


def text_of(data: bytes) -> str:
    from jax import export

    from ..compat import lowering
    exported = export.deserialize(bytearray(data))
    return lowering.stablehlo_text(exported.mlir_module_serialized) or str(exported.mlir_module())


def main(path: str, out: str) -> int:
    try:
        with open(path, "rb") as f:
            text = text_of(f.read())
    except ImportError as e:
        print(f"expected a Python with JAX and flatbuffers, which jax.export needs, found that {e}", file=sys.stderr)
        return 3
    except Exception as e:
        print(f"expected a file that jax.export.Exported.serialize wrote, found what JAX can't read: {type(e).__name__}: {str(e).splitlines()[0] if str(e) else ''}", file=sys.stderr)
        return 2
    with open(out, "w", encoding="utf-8") as f:
        f.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
