"""One lock per physical card, shared by everybody on this machine, and beside it who holds it.

A lock is `flock` on a file that every user may open, in a folder that every user may write to. The kernel lets go of it
when the last process that has the file open ends, however it ends; the side servers of a worker keep it open too, so a
card is not free before the runs of a killed tool are gone. A worker holds one card's lock and never waits for another with
it, so there is nothing that could deadlock.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import pwd
import secrets
import socket
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

from zl_bench.errors import EnvironmentUnfit
from zl_bench.fleet.cards import Card

VARIABLE = "ZL_BENCH_LOCKS"
FOLDER = Path("/tmp/zl-bench-locks")
"""Not the temporary folder of one user's choice: whoever uses a card must look in the same place."""
FOLDER_MODE = 0o1777
FILE_MODE = 0o666
TOLD_LIMIT = 10_000
"""Bytes of what a holder tells of itself."""


@dataclass(frozen=True)
class Holder:
    """Who uses a card, as told by itself, for messages. `since` is ISO 8601."""

    pid: int
    user: str
    host: str
    root: str
    since: str

    @classmethod
    def of_this_process(cls, root: Path) -> Holder:
        """This process, recording into `root`, from now on."""
        try:
            user = pwd.getpwuid(os.geteuid()).pw_name
        except KeyError:
            user = f"uid {os.geteuid()}"
        now = datetime.now().astimezone().isoformat(timespec="seconds")
        return cls(os.getpid(), user, socket.gethostname(), str(root), now)

    def __str__(self) -> str:
        return f"process {self.pid} of {self.user} on {self.host} since {self.since} ({self.root})"


def lock_folder(environment: Mapping[str, str]) -> Path:
    """The folder of the locks, made if need be. Raises EnvironmentUnfit if it can not be used."""
    folder = Path(environment.get(VARIABLE) or FOLDER).absolute()
    try:
        with contextlib.suppress(FileExistsError):
            folder.mkdir(parents=True)
            folder.chmod(FOLDER_MODE)
        if not folder.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
    except OSError as error:
        raise _unusable(folder, error) from error
    return folder


class CardLock:
    """The lock of one card. Not held until `take` says so."""

    def __init__(self, card: Card, folder: Path):
        self.card = card
        # A folder that machines share must not mix up cards that only a number tells apart.
        host = "" if card.uuid else f"-{socket.gethostname()}"
        self._path = folder / f"{card.identity}{host}.lock"
        self._descriptor: int | None = None

    @property
    def descriptor(self) -> int:
        """The open file that holds the lock; a process that inherits it holds the lock as well."""
        if self._descriptor is None:
            raise ValueError(f"the lock of {self.card} is not held")
        return self._descriptor

    def take(self, holder: Holder) -> bool:
        """Take the lock if it is free, and say whether it was. Raises EnvironmentUnfit if its file can not be used."""
        try:
            descriptor = self._open()
        except OSError as error:
            raise _unusable(self._path, error) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Somebody may have cleaned the folder up meanwhile: a lock on a file that nobody finds keeps nobody out.
            if not _is_at(descriptor, self._path):
                os.close(descriptor)
                return self.take(holder)
            _tell(descriptor, json.dumps(asdict(holder)))
        except BlockingIOError:
            os.close(descriptor)
            return False
        except OSError as error:
            os.close(descriptor)
            raise _unusable(self._path, error) from error
        self._descriptor = descriptor
        return True

    def release(self) -> None:
        """Let go of the lock, for every process that has inherited it too."""
        if self._descriptor is None:
            return
        descriptor, self._descriptor = self._descriptor, None
        with contextlib.suppress(OSError):  # a full disk can not keep a card locked
            _tell(descriptor, "")
        fcntl.flock(descriptor, fcntl.LOCK_UN)
        os.close(descriptor)

    def holder(self) -> Holder | None:
        """Who holds it, as far as its file tells; meaningful only while somebody does."""
        try:
            with self._path.open("rb") as stream:
                told = json.loads(stream.read(TOLD_LIMIT))
            return Holder(int(told["pid"]), *(str(told[name]) for name in ("user", "host", "root", "since")))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def told_holder(self) -> str:
        """Who holds it, for messages."""
        holder = self.holder()
        return str(holder) if holder is not None else "a process that did not say who it is"

    def _open(self) -> int:
        """The lock's file, made if need be. It never appears without its final mode, nor is another user's opened to
        create it, which a protected folder refuses.
        """
        flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            return os.open(self._path, flags)
        except FileNotFoundError:
            pass
        new = self._path.with_name(f".{self._path.name}.{secrets.token_hex(8)}")
        descriptor = os.open(new, flags | os.O_CREAT | os.O_EXCL, FILE_MODE)
        try:
            os.fchmod(descriptor, FILE_MODE)  # whatever this user's umask is
            with contextlib.suppress(FileExistsError):
                os.link(new, self._path)
        finally:
            os.close(descriptor)
            new.unlink(missing_ok=True)
        return os.open(self._path, flags)


def _tell(descriptor: int, text: str) -> None:
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, text.encode("utf-8", "backslashreplace"), 0)


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat(follow_symlinks=False))
    except FileNotFoundError:
        return False


def _unusable(path: Path, error: OSError) -> EnvironmentUnfit:
    return EnvironmentUnfit(
        f"The cards' locks can not be kept in {path}: {error.strerror or error}. Name a folder that every user of the "
        f"cards can write to with {VARIABLE}."
    )
