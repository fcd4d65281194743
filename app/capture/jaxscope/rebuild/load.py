# SPDX-License-Identifier: Apache-2.0
"""Reading a capture's file and its archive."""
from __future__ import annotations

import io
import json
import os
import subprocess
import tempfile
from typing import Any

import numpy as np

from ..document.output import npz_path
from ..errors import CaptureError
from .names import CannotRebuild
from .program import Rebuilt

_ZSTD = b"\x28\xb5\x2f\xfd"


def load(path: str | os.PathLike[str]) -> Rebuilt:
    path = os.fspath(path)
    document = read_document(path)
    try:
        return Rebuilt(document, _members(path))
    except CannotRebuild as e:
        raise CaptureError(f"{path}: can't be rebuilt as a JAX function: {e}") from None


def read_document(path: str) -> dict[str, Any]:
    try:
        text = _text(path)
        if not text.strip(b"\0 \t\r\n"):
            raise CaptureError(f"{path} is no capture: " + ("zero bytes alone stand in it" if b"\0" in text else "nothing stands in it"))
        document = json.loads(text)
    except OSError as e:
        raise CaptureError(f"cannot read {path}: {e.strerror or e}") from None
    except ValueError as e:
        raise CaptureError(f"{path} is no capture: {e}") from None
    if not isinstance(document, dict) or document.get("format") != "jaxscope.capture":
        raise CaptureError(f"{path}: it is no capture of jaxscope's")
    return document


def _members(path: str) -> Any:
    archive = npz_path(path)
    return np.load(archive) if os.path.exists(archive) else {}


def _text(path: str) -> bytes:
    with open(path, "rb") as f:
        data = f.read()
    return _decompressed(path, data) if data[:4] == _ZSTD else data


def _decompressed(path: str, data: bytes) -> bytes:
    """Python reads zstd from 3.14 on; before it a package does, or the program jaxscope, which wrote it."""
    try:
        from compression import zstd  # type: ignore[import-not-found]
        return bytes(zstd.decompress(data))
    except ImportError:
        pass
    try:
        import zstandard
        return bytes(zstandard.ZstdDecompressor().stream_reader(io.BytesIO(data)).read())
    except ImportError:
        pass
    from ..asking.executable import executable
    with tempfile.TemporaryDirectory() as folder:
        plain = os.path.join(folder, "plain.jaxscope")
        done = subprocess.run([executable(), "transform", path, "--uncompressed", "-o", plain], capture_output=True, text=True)
        if done.returncode != 0:
            raise CaptureError((done.stderr.strip().splitlines() or [f"{path} can't be read"])[-1].removeprefix("jaxscope: "))
        with open(plain, "rb") as f:
            return f.read()
