# SPDX-License-Identifier: Apache-2.0
"""Writing a capture: streamed into a temporary file, compressed where this Python can, renamed when whole."""
from __future__ import annotations

import contextlib
import errno
import itertools
import json
import os
import tempfile
from typing import Any, Iterator

import numpy as np

from ..errors import CaptureError

_dump = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


def chunks(document: dict[str, Any]) -> Iterator[str]:
    """The document as JSON text, one table entry a line."""
    sep = "{"
    for key, value in document.items():
        yield sep + _dump(key) + ":"
        sep = ",\n"
        if isinstance(value, list) and value and key not in ("values",):
            yield "[\n" + _dump(value[0])
            for item in value[1:]:
                yield ",\n" + _dump(item)
            yield "]"
        else:
            yield _dump(value)
    yield "}\n"


def _compressor() -> Any:
    try:
        from compression import zstd  # Python 3.14
        return lambda f: zstd.ZstdFile(f, "wb", level=9)
    except ImportError:
        pass
    try:
        import zstandard
        return lambda f: zstandard.ZstdCompressor(level=9).stream_writer(f, closefd=False)
    except ImportError:
        return None


@contextlib.contextmanager
def atomic(path: str) -> Iterator[Any]:
    """A binary file that gets its name when it is whole."""
    try:
        with _renamed(os.path.realpath(path)) as f:  # through links: they stay what they are
            yield f
    except OSError as e:
        full = e.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO)  # else it's the place that was named
        raise CaptureError(f"cannot write {path}: {e.strerror or e}", exit_code=3 if full else 2) from None


@contextlib.contextmanager
def _renamed(path: str) -> Iterator[Any]:
    if os.path.exists(path) and not os.path.isfile(path):
        raise IsADirectoryError(errno.EISDIR, "it is a directory" if os.path.isdir(path) else "it is not a regular file")
    folder = os.path.dirname(path)
    fd, temporary = _nameless(folder), ""
    if fd is None:
        fd, temporary = tempfile.mkstemp(dir=folder, prefix=".jaxscope-")
        umask = os.umask(0)
        os.umask(umask)
        os.fchmod(fd, 0o666 & ~umask)
    try:
        with os.fdopen(fd, "wb") as f:
            yield f
            f.flush()
            os.fsync(f.fileno())
            temporary = temporary or _named(f.fileno(), folder)
        os.replace(temporary, path)
    except BaseException:
        if temporary:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        raise


def _nameless(folder: str) -> int | None:
    """A file in the folder that has no name, and goes with the process, whatever ends it. None where the file system or the kernel has none."""
    if not hasattr(os, "O_TMPFILE"):
        return None
    try:
        fd = os.open(folder, os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, 0o666)
    except OSError:  # what is wrong with the folder itself, the other way says
        return None
    if os.access(f"/proc/self/fd/{fd}", os.W_OK):
        return fd
    os.close(fd)
    return None


def _named(fd: int, folder: str) -> str:
    """Nothing takes the place of a file but what has a name itself."""
    for n in itertools.count():
        name = os.path.join(folder, f".jaxscope-{os.getpid()}-{n}")
        try:
            os.link(f"/proc/self/fd/{fd}", name, src_dir_fd=fd, follow_symlinks=True)  # plain link() would link the symlink
            return name
        except FileExistsError:
            continue
    raise AssertionError


def npz_path(path: str) -> str:
    return (path[:-len(".jaxscope")] if path.endswith(".jaxscope") else path) + ".npz"


def save(path: str, document: dict[str, Any], members: dict[str, np.ndarray], compress: bool = True) -> None:
    make = _compressor() if compress else None
    with contextlib.ExitStack() as files:  # both get their names when both are whole
        archive = files.enter_context(atomic(npz_path(path))) if members else None
        f = files.enter_context(atomic(path))
        if archive is not None:
            np.savez(archive, **members)
        z = f if make is None else files.enter_context(make(f))
        for text in chunks(document):
            z.write(text.encode("utf-8", "surrogatepass"))
