"""A remote-execution service on this machine: PostgreSQL, BuildGrid's server, and workers, for as long as a test lasts."""

import contextlib
import ctypes
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
INSTANCE = "main"
LIBC = ctypes.CDLL(None)
PR_SET_PDEATHSIG = 1
KEEPALIVE = 5  # seconds without a word from a worker after which its work is given to another; the server wants more than 4

CONFIG = """
server:
  - !channel
    address: "127.0.0.1:{port}"
    insecure-mode: true
authorization: {{method: none}}
connections:
  - !sql-connection &sql
    connection-string: "{database}"
storages:
  - !disk-storage &storage
    path: "{folder}/cas"
caches:
  - !lru-action-cache &cache
    storage: *storage
    max-cached-refs: 10000
    allow-updates: true
    cache-failed-actions: false
schedulers:
  - !sql-scheduler &scheduler
    sql: *sql
    storage: *storage
    action-cache: *cache
    bot-session-keepalive-timeout: {keepalive}
    session-expiry-timer-interval: 0.5
    poll-interval: 0.05
    bot-poll-interval: 0.05
    assigners:
      - !priority-age-assigner {{count: 1, interval: 0.05}}
instances:
  - name: "{instance}"
    services:
      - !action-cache {{cache: *cache}}
      - !execution {{scheduler: *scheduler}}
      - !cas {{storage: *storage}}
      - !bytestream {{storage: *storage}}
thread-pool-size: 60
"""


def postgres():
    """The folder of the newest PostgreSQL's programs; nothing where none is installed."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda p: int(p.parts[4]))
    return found[-1].parent if found else None


def environment(cache):
    """A Python with requirements.txt, in the cache folder; raises CalledProcessError where that cannot be had."""
    wanted = (HERE / "requirements.txt").read_text()
    folder = Path(cache) / "remote-execution"
    complete = folder / "complete"
    if not complete.exists() or complete.read_text() != wanted:
        shutil.rmtree(folder, ignore_errors=True)
        for command in (["-m", "venv", folder], ["-m", "pip", "install", "-q", "--disable-pip-version-check", "-r", HERE / "requirements.txt"]):
            python = sys.executable if command[1] == "venv" else folder / "bin" / "python"
            subprocess.run([python, *command], check=True, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        complete.write_text(wanted)
    return folder / "bin" / "python"


class Service:
    """Writes to `folder`; `python` is what environment() gives. A context: all of it ends with the block."""

    def __init__(self, folder, python):
        self.folder, self.python = folder, python
        self.port = free_port()
        self.workers = {}
        self._ends = contextlib.ExitStack()

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            stack.callback(self._ends.close)
            self._start_server(self._start_database())
            stack.pop_all()
        return self

    def __exit__(self, *_):
        self._ends.close()

    def worker(self, name, *options):
        """Starts a worker."""
        process = self._start([self.python, HERE / "worker.py", "--server", f"127.0.0.1:{self.port}", "--instance", INSTANCE,
                               "--name", name, "--folder", self.folder / name, *options], f"{name}.log")
        self.workers[name] = process
        until(lambda: self.said(name, "ready"), name, process)
        return process

    def kill(self, name):
        """As a machine dies: the worker with what it runs, and no word of it."""
        os.killpg(self.workers.pop(name).pid, signal.SIGKILL)

    def said(self, name, word):
        """What stands behind a word in lines of a worker's log: "took MNEMONIC LEASE", "did MNEMONIC LEASE EXIT", "ready"."""
        path = self.folder / f"{name}.log"
        lines = [line.split() for line in path.read_text(errors="replace").splitlines()] if path.exists() else []
        return [line for line in lines if line and line[0] == word]

    def texts(self):
        """The end of every log, for a failure's message."""
        return "\n".join(f"--- {path.name}\n{path.read_text(errors='replace')[-3000:]}" for path in sorted(self.folder.glob("*.log")))

    def _start(self, command, log, sign=signal.SIGKILL, **more):
        """In its own process group, so that its end is that of its children too: by `sign`, since nothing of it is kept. It gets that also
        when the test itself is killed."""
        with open(self.folder / log, "ab") as out:
            process = subprocess.Popen([str(c) for c in command], stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                       start_new_session=True, preexec_fn=lambda: LIBC.prctl(PR_SET_PDEATHSIG, sign), **more)
        self._ends.callback(end, process, sign)
        return process

    def _start_database(self):
        """Reached by a socket of its own alone."""
        folder = Path(tempfile.mkdtemp(prefix="ampc-sql-"))  # a socket's path may not be long
        self._ends.callback(shutil.rmtree, folder, ignore_errors=True)
        user = {"cwd": folder}
        if os.geteuid() == 0:  # PostgreSQL does not run as root
            who = pwd.getpwnam("postgres")
            os.chown(folder, who.pw_uid, who.pw_gid)
            user = {"cwd": folder, "user": who.pw_uid, "group": who.pw_gid, "extra_groups": []}
        programs = postgres()
        checked([programs / "initdb", "-D", folder / "data", "-U", "ampc", "--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C"], **user)
        process = self._start([programs / "postgres", "-D", folder / "data", "-k", folder, "-c", "listen_addresses=", "-c", "fsync=off",
                               "-c", "max_connections=120"], "postgres.log", signal.SIGQUIT, **user)  # which gives shared memory back
        until(lambda: subprocess.run([programs / "createdb", "-h", folder, "-U", "ampc", "ampc"], check=False, stdout=subprocess.DEVNULL,
                                     stderr=subprocess.DEVNULL).returncode == 0, "PostgreSQL", process)
        # The server polls the connection of psycopg2; SQLAlchemy 2.1 would take another driver by default.
        return f"postgresql+psycopg2://ampc@/ampc?host={folder}"

    def _start_server(self, database):
        bgd = self.python.parent / "bgd"
        checked([self.python, bgd, "migrate", "apply", database])
        config = self.folder / "server.yml"
        config.write_text(CONFIG.format(port=self.port, folder=self.folder, database=database, instance=INSTANCE, keepalive=KEEPALIVE))
        process = self._start([self.python, bgd, "server", "start", config], "server.log")

        def listens():
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", self.port)) == 0
        until(listens, "BuildGrid", process)


def checked(command, **more):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **more)
    if done.returncode != 0:
        raise RuntimeError(f"{command}\n{done.stdout}")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def until(holds, what, process=None, seconds=60):
    limit = time.monotonic() + seconds
    while not holds():
        if process is not None and process.poll() is not None:
            raise RuntimeError(f"{what}: ended with {process.returncode}")
        if time.monotonic() > limit:
            raise RuntimeError(f"{what}: not within {seconds} seconds")
        time.sleep(0.05)


def end(process, sign):
    for sign in (sign, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, sign)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(10)
            return
