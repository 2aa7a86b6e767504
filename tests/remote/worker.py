#!/usr/bin/env python3
"""A worker of a remote-execution service: takes leases from its bots interface, one at a time, and runs them.

    worker.py --server HOST:PORT --instance NAME --name NAME --folder DIR [--root DIR] [--hold FILE]
              [--property KEY=VALUE]…

Of a lease it fetches the input tree into a fresh folder, runs the command there with the environment that it names and no
other, and uploads what that wrote. With --root, commands see nothing but what is in that folder, as on a machine of its
own. While the file of --hold is there, it takes leases and does not begin with them, like a machine that is slow. What
--property says of it is what actions can ask for.

Prints "ready", "took MNEMONIC LEASE", "did MNEMONIC LEASE EXIT", "failed MNEMONIC LEASE WHY", "lost LEASE".
"""

import argparse
import os
import shutil
import subprocess
import threading
import time
from pathlib import Path

import grpc
from buildgrid._protos.build.bazel.remote.execution.v2 import remote_execution_pb2 as remote
from buildgrid._protos.google.devtools.remoteworkers.v1test2 import bots_pb2, bots_pb2_grpc, worker_pb2
from storage import Storage

HEARTBEAT = 1.0  # seconds between two words to the service while a command runs
POLL = 5.0  # seconds that a question for work may take


def say(*words):
    print(*words, flush=True)


class Runner:
    """Runs actions, each in a folder of its own."""

    def __init__(self, storage, folder, root):
        self.storage, self.root = storage, root
        self.folder = root / "run" if root else folder / "run"

    def run(self, name, action, command):
        folder = self.folder / name
        try:
            self.storage.fetch_tree(action.input_root_digest, folder)
            here = folder / command.working_directory
            outputs = list(command.output_paths) or [*command.output_files, *command.output_directories]
            for path in outputs:
                (here / path).parent.mkdir(parents=True, exist_ok=True)
            done = self.call(command, here, action.timeout.seconds or None)
            result = remote.ActionResult(exit_code=done.returncode, stdout_raw=done.stdout, stderr_raw=done.stderr)
            for path in outputs:
                self.add_output(result, here, path)
            return result
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def call(self, command, here, timeout):
        arguments = list(command.arguments)
        if "/" in arguments[0]:  # as typed it is relative to the working directory
            arguments[0] = str((Path("/") / here.relative_to(self.root) if self.root else here) / arguments[0])
        if self.root:
            user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
            arguments = ["unshare", *user, "--mount", "--pid", "--fork", "--kill-child", f"--root={self.root}",
                         f"--wd=/{here.relative_to(self.root)}", "--mount-proc", *arguments]
        environment = {"PATH": "/usr/bin:/bin", **{v.name: v.value for v in command.environment_variables}}
        return subprocess.run(arguments, cwd=here, env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=timeout)

    def add_output(self, result, here, path):
        there = here / path
        if there.is_dir():
            result.output_directories.add(path=path, tree_digest=self.storage.put_tree(there))
        elif there.is_file():
            result.output_files.add(path=path, digest=self.storage.put_file(there), is_executable=os.access(there, os.X_OK))


def mnemonic(command):
    """What an action is for: ampc's command where it is ampc, else the program's name."""
    for program, word in zip(command.arguments, [*command.arguments[1:], ""]):
        if program.endswith("/ampc"):
            return word if word in ("plan", "cast", "link") else "compile"
    return Path(command.arguments[0]).name


class Worker:
    def __init__(self, args):
        self.args = args
        channel = grpc.insecure_channel(args.server, options=[("grpc.max_receive_message_length", -1)])
        grpc.channel_ready_future(channel).result(30)
        self.bots = bots_pb2_grpc.BotsStub(channel)
        self.storage = Storage(channel, args.instance, args.folder / "storage")
        self.runner = Runner(self.storage, args.folder, args.root)
        machine = worker_pb2.Device(handle=args.name)
        for key, value in (pair.split("=", 1) for pair in args.property):
            machine.properties.add(key=key, value=value)
        self.session = bots_pb2.BotSession(bot_id=args.name, status=bots_pb2.OK, worker=worker_pb2.Worker(devices=[machine]))

    def work(self):
        say("ready")
        request = bots_pb2.CreateBotSessionRequest(parent=self.args.instance, bot_session=self.session)
        self.session = self.bots.CreateBotSession(request, timeout=POLL)
        while True:
            for lease in list(self.session.leases):
                if lease.state in (bots_pb2.PENDING, bots_pb2.ACTIVE):
                    self.do(lease)
            self.tell()

    def tell(self):
        """Tells the service how far the leases are, and learns which there are now."""
        request = bots_pb2.UpdateBotSessionRequest(name=self.session.name, bot_session=self.session)
        try:
            self.session = self.bots.UpdateBotSession(request, timeout=POLL)
        except grpc.RpcError as error:
            if error.code() != grpc.StatusCode.DEADLINE_EXCEEDED:
                raise

    def mine(self, lease):
        return next((other for other in self.session.leases if other.id == lease.id), None)

    def do(self, lease):
        """Runs a lease; the service hears meanwhile that this worker is alive."""
        results = []
        thread = threading.Thread(target=lambda: results.append(self.result(lease)), daemon=True)
        lease.state = bots_pb2.ACTIVE
        self.tell()
        thread.start()
        told = time.monotonic()
        while thread.is_alive():
            thread.join(0.02)
            if time.monotonic() - told > HEARTBEAT and self.mine(lease):
                self.tell()
                told = time.monotonic()
        mine = self.mine(lease)
        if mine is None:
            say("lost", lease.id)
            return
        mine.state = bots_pb2.COMPLETED
        if results and results[0] is not None:
            mine.result.Pack(results[0])
        else:
            mine.status.code = grpc.StatusCode.INTERNAL.value[0]

    def result(self, lease):
        action = remote.Action()
        if not lease.payload.Unpack(action):
            digest = remote.Digest()
            lease.payload.Unpack(digest)
            action = self.storage.message(digest, remote.Action)
        command = self.storage.message(action.command_digest, remote.Command)
        what = mnemonic(command)
        say("took", what, lease.id)
        while self.args.hold and self.args.hold.exists():
            time.sleep(0.02)
        try:
            result = self.runner.run(lease.id, action, command)
        except (OSError, subprocess.SubprocessError, grpc.RpcError) as error:
            say("failed", what, lease.id, repr(error))
            return None
        say("did", what, lease.id, result.exit_code)
        return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", required=True)
    parser.add_argument("--instance", required=True)
    parser.add_argument("--name", required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--root", type=Path)
    parser.add_argument("--hold", type=Path)
    parser.add_argument("--property", action="append", default=[])
    Worker(parser.parse_args()).work()


if __name__ == "__main__":
    main()
