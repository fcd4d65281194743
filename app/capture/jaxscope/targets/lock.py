# SPDX-License-Identifier: Apache-2.0
"""libtpu is one process's at a time: whose turn it is, which is waited for and said.

libtpu locks a file and refuses a second process at once. Two of ours that look at that file together would both find it free, so they take turns by a lock of our own first;
whatever else uses libtpu is known by libtpu's lock alone.
"""
from __future__ import annotations

import contextlib
import os
import struct
import time
from typing import Callable, Iterator

from ..errors import TargetProblem, TimeOut

LIBTPU = os.environ.get("JAXSCOPE_LIBTPU_LOCK", "/tmp/libtpu_lockfile")  # the variable is for tests
_POLL = 0.5
_TRIES = 5  # where libtpu finds its lock taken and no process is seen to hold it


class Line:
    """One program's place in the line for libtpu."""

    def __init__(self, target: str, deadline: float | None, tell: Callable[[str], None]):
        self._target, self.deadline, self._tell = target, deadline, tell
        self._said, self._tries, self._holder, self._seconds = False, 0, 0, 0.0

    @contextlib.contextmanager
    def turn(self) -> Iterator[None]:
        """No other process of ours asks libtpu meanwhile. The system ends the turn of a process that is killed."""
        with _own_lock() as fd:
            if fd is not None:
                self._wait(lambda: _taken_by(fd))
            yield

    def until_free(self) -> None:
        """Until no process is seen to hold libtpu's own lock."""
        self._wait(holder)

    def again(self, said: str) -> None:
        """libtpu found its lock taken, by one that started with it or that isn't to be seen (another user's file, another container)."""
        self._tries = 0 if holder() is not None else self._tries + 1
        if self._tries == _TRIES:
            raise TargetProblem(self._target, f"libtpu finds its lock ({LIBTPU}) taken, and no process is seen to hold it: {said}")
        self._pause(0)

    def waited(self) -> str:
        """The end of a sentence about a time-out: how much of the time went by before the compiler was asked."""
        return f"; {self._seconds:.0f} s of the time it waited for {_named(self._holder)}, which held libtpu's lock" if self._seconds >= 1 else ""

    def _wait(self, held_by: Callable[[], int | None]) -> None:
        while (pid := held_by()) is not None:
            self._pause(pid)

    def _pause(self, pid: int) -> None:
        if not self._said:
            self._tell(f"jaxscope: {self._target}: {_named(pid)} uses libtpu ({LIBTPU}): waiting for it")
        self._said, self._holder = True, pid
        why = f"{_named(pid)} held libtpu's lock ({LIBTPU}) all the time"
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise TargetProblem(self._target, f"time-out: {why}")
        try:
            time.sleep(_POLL)
        except TimeOut as e:
            raise TimeOut(f"{e}: {why}") from None
        self._seconds += _POLL


def is_taken(said: str) -> bool:
    """Whether libtpu says that another process was there first."""
    return "ABORTED" in said and "lockfile" in said


def holder() -> int | None:
    """The process that holds libtpu's lock; 0 where it is another container's. Asked without taking the lock: a libtpu that starts meanwhile would find it taken.

    Of our own process this is never so, and closing the file lets go of it: a program that was traced on a TPU doesn't keep its compiler waiting."""
    import fcntl
    try:
        fd = os.open(LIBTPU, os.O_RDONLY)
    except OSError:  # nobody has used it, or another user: libtpu says that itself
        return None
    try:
        asked = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        kind, *_, pid = struct.unpack("hhqqi4x", fcntl.fcntl(fd, fcntl.F_GETLK, asked))
        return None if kind == fcntl.F_UNLCK else int(pid)
    except OSError:
        return None
    finally:
        os.close(fd)


def tidy() -> None:
    """libtpu leaves its lock file behind where it is killed, and another user's libtpu couldn't open that."""
    with contextlib.suppress(OSError):
        if os.stat(LIBTPU).st_uid == os.getuid() and holder() is None:
            os.unlink(LIBTPU)


@contextlib.contextmanager
def _own_lock() -> Iterator[int | None]:
    """Beside libtpu's, as it is the machine's, where a folder of the user's may be many machines'. None: there can be none, and libtpu's own has to do."""
    try:
        fd = os.open(os.path.join(os.path.dirname(LIBTPU), f"jaxscope_libtpu_{os.getuid()}.lock"), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    except OSError:
        yield None
        return
    try:
        yield fd
    finally:
        _let_go(fd)


def _taken_by(fd: int) -> int | None:
    """Takes our own lock, or tells who has it. It stays behind when it is let go of: a file that is unlinked is two to those that wait for it."""
    import fcntl
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.ftruncate(fd, 0)
        os.pwrite(fd, str(os.getpid()).encode(), 0)
    except BlockingIOError:
        return int(os.pread(fd, 20, 0).decode("ascii", "replace").strip() or 0)
    except OSError:  # a file system without locks
        pass
    return None


def _let_go(fd: int) -> None:
    import fcntl
    with contextlib.suppress(OSError):
        fcntl.flock(fd, fcntl.LOCK_UN)  # also of what a child process, forked meanwhile, has inherited
    os.close(fd)


def _named(pid: int) -> str:
    return f"process {pid}" if pid else "another process"
