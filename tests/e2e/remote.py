#!/usr/bin/env python3
"""Whether a model in shards is made on other machines than Bazel's: by a service for remote execution with workers that see
nothing but what the build sends them; that a machine which dies, a wrong model and a second build are taken as they should.

    remote.py --build DIR --cache DIR [TEST…]

DIR are a build folder of ampc's own and a cache folder. Bazel and PostgreSQL are Debian's, which are installed where that can
be done; the service is BuildGrid's, from PyPI, into the cache. All of it is on this machine, and listens to it alone.
"""

import argparse
import collections
import concurrent.futures
import contextlib
import hashlib
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import onnx

import bazel_tool
import debian
from build_tool import run
from clean_root import CleanRoot
from compiler import REPOSITORY

sys.path += [str(REPOSITORY / "tests" / "remote"), str(REPOSITORY / "tests" / "bench")]
import service  # noqa: E402
from make_transformer import transformer  # noqa: E402

ARGS = PREFIX = PYTHON = None
LOAD = 'load("@rules_ampc//:amp.bzl", "amp_model_sharded", "amp_rules")\n'
LAYERS, WIDTH = (4, 512) if os.environ.get("AMPC_FULL") else (2, 192)
SHARDS = 4
RULES = 'amp 1\nimport "default.amp"\nimport "parts/more.amp"\n'


def build_file(**attributes):
    more = "".join(f", {name} = {value!r}" for name, value in attributes.items())
    return (f'{LOAD}amp_rules(name = "team", srcs = glob(["*.amp", "parts/*.amp"]), root = "team.amp")\n'
            f'amp_model_sharded(name = "model", model = "model.onnx", external_data = ["model.onnx.data"], rules = "team",'
            f' shards = {SHARDS}{more})\n')


class Remote(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory())).resolve()
        (cls.folder / "service").mkdir()
        with open(cls.folder / "model.onnx.data", "wb") as data:
            onnx.save(transformer(LAYERS, WIDTH, 500, data), cls.folder / "model.onnx")
        with concurrent.futures.ThreadPoolExecutor() as pool:  # each takes seconds to start
            bazel = pool.submit(lambda: bazel_tool.Workspace(PREFIX.parent / "project", PREFIX.parent / "root", PREFIX).bazel("clean"))
            cls.service = cls.enterClassContext(service.Service(cls.folder / "service", PYTHON))
            bazel.result()
        cls.no_root = CleanRoot.missing()
        if cls.no_root:
            print(f"workers see this machine's files: {cls.no_root}")
        for name in ("one", "two"):
            cls.start(name)

    @classmethod
    def start(cls, name):
        options = ["--hold", cls.hold(name), "--property", "OSFamily=linux"]
        if not cls.no_root:
            root = CleanRoot(cls.folder / f"root of {name}").folder
            shutil.copy2("/bin/sh", root / "usr" / "bin" / "sh")  # of rules that write a second file
            options += ["--root", root]
        cls.service.worker(name, *options)

    @classmethod
    def hold(cls, name):
        return cls.folder / f"{name} waits"

    def setUp(self):
        self.before = {name: len(self.leases("took", [name])) for name in self.service.workers}
        self.project = self.checkout("project")
        self.clean()

    def checkout(self, name, **attributes):
        made = bazel_tool.Workspace(PREFIX.parent / name, PREFIX.parent / "root", PREFIX)
        settings = (REPOSITORY / "examples" / "bazel-project" / ".bazelrc").read_text()  # what a team copies
        assert "grpcs://build.example.com" in settings
        made.add({**{name: (self.folder / name).read_bytes() for name in ("model.onnx", "model.onnx.data")},
                  "team.amp": RULES, "parts/more.amp": "amp 1\n", "BUILD.bazel": build_file(**attributes),
                  ".bazelrc": settings.replace("grpcs://build.example.com", f"grpc://127.0.0.1:{self.service.port}")})
        return made

    def leases(self, word, workers=None):
        return [line for name in (workers or self.service.workers) for line in self.service.said(name, word)]

    def fresh(self, name, word="took"):
        """What a worker has been given in this test, as ampc's commands."""
        return [line[1] for line in self.service.said(name, word)[self.before.get(name, 0):]]

    def done(self):
        return collections.Counter(what for name in self.service.workers for what in self.fresh(name, "did"))

    def build(self, config="cluster"):
        return self.project.bazel("build", "//:model", more=[f"--config={config}"])

    def built(self, config="cluster"):
        done, log = self.build(config)
        if done.returncode != 0:
            self.fail(f"{done.stdout}\n{self.service.texts()}")
        self.assertEqual({spawn["runner"].removesuffix(" cache hit") for spawn in log}, {"remote"}, "something ran here, or nothing did")
        return log

    def by_hand(self, *options, dtype="fp16"):
        """What one run of ampc writes here."""
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        done = run(PREFIX / "bin" / "ampc", "team.amp", "model.onnx", "-o", folder / f"model.{dtype}.onnx", "--dtype", dtype, *options,
                   cwd=self.project.folder)
        self.assertEqual(done.returncode, 0, done.stdout)
        return digests(folder.iterdir())

    def outputs(self):
        return digests((self.project.folder / "bazel-bin").glob("model.*.onnx*"))

    def clean(self):
        self.assertEqual(self.project.bazel("clean")[0].returncode, 0)
        self.assertFalse(self.outputs())

    def test_two_machines_make_the_same_bytes_once(self):
        self.project.add({"BUILD.bazel": build_file(data_file=True, level="O2")})
        with self.all_at_work(list(self.service.workers)) as (building, _):
            pass
        log = building.result(timeout=120)
        self.assertEqual(self.done(), {"plan": 1, "cast": SHARDS, "link": 1})
        self.assertFalse(any(spawn["remoteCacheHit"] for spawn in log))
        self.assertEqual(len(self.service.workers), 2)
        for name in self.service.workers:
            self.assertIn("cast", self.fresh(name), "one machine did it all")
        want = self.by_hand("--external-data", "--level", "O2")
        self.assertEqual(len(want), 2)
        self.assertEqual(self.outputs(), want)

        self.clean()
        log = self.built()
        self.assertEqual([spawn["remoteCacheHit"] for spawn in log], [True] * (SHARDS + 2))
        self.assertEqual(self.done().total(), SHARDS + 2)
        self.assertEqual(self.outputs(), want)

        # The cache alone: what workers made is there for those who ask for no workers, and nothing else is.
        self.clean()
        log = self.built("cache")
        self.assertEqual([spawn["remoteCacheHit"] for spawn in log], [True] * (SHARDS + 2))
        self.assertEqual(self.outputs(), want)
        done, log = self.project.bazel("build", "//:model", more=["--config=cache", "--remote_default_exec_properties=other=x"])
        self.assertEqual((done.returncode, len(log), any(spawn["remoteCacheHit"] for spawn in log)), (0, SHARDS + 2, False), done.stdout)
        self.assertEqual(self.outputs(), want)

        # Rules that decide the same make the same plan, and casting and linking are not done again.
        (self.project.folder / "parts" / "more.amp").write_text("amp 1\n# as before\n")
        self.built()
        self.assertEqual(self.done(), {"plan": 2, "cast": SHARDS, "link": 1})
        self.assertEqual(self.outputs(), want)


    @unittest.skipUnless(os.environ.get("AMPC_FULL"), "starts another Bazel; AMPC_FULL=1 runs it")
    def test_another_checkout_of_somebody_who_has_built_nothing_yet(self):
        attributes = {"data_file": True, "level": "O1"}
        self.project.add({"BUILD.bazel": build_file(**attributes)})
        self.built()
        want, before = self.outputs(), self.done()
        self.project = self.checkout("another", **attributes)
        self.assertFalse(self.outputs())
        log = self.built()
        self.assertEqual([spawn["remoteCacheHit"] for spawn in log], [True] * (SHARDS + 2))
        self.assertEqual(self.done(), before)
        self.assertEqual(self.outputs(), want)

    @unittest.skipUnless(os.environ.get("AMPC_FULL"), "AMPC_FULL=1 runs it")
    def test_a_kind_of_machine_is_chosen_by_its_constraints(self):
        kinds = """platform(name = "plain", constraint_values = ["@platforms//os:linux"], exec_properties = {"OSFamily": "linux"})
platform(name = "odd", constraint_values = ["@platforms//os:windows"], exec_properties = {"gpu": "many"})
"""
        workspace = (self.project.folder / "WORKSPACE").read_text()
        constrained = workspace.replace(f'path = "{PREFIX}")\n', f'path = "{PREFIX}", exec_compatible_with = ["@platforms//os:linux"])\n')
        self.assertNotEqual(workspace, constrained)
        settings = (self.project.folder / ".bazelrc").read_text()
        wanted = "build:cluster --remote_default_exec_properties=OSFamily=linux\n"
        self.assertIn(wanted, settings)
        self.project.add({"BUILD.bazel": build_file(level="O1", dtypes=["bf16"]) + kinds, "WORKSPACE": constrained,
                          ".bazelrc": settings.replace(wanted, "build:cluster --extra_execution_platforms=//:odd,//:plain\n")})
        self.built()  # `odd` comes first, and there is no such machine
        self.assertEqual(self.done(), {"plan": 1, "cast": SHARDS, "link": 1})
        self.project.add({"WORKSPACE": constrained.replace("os:linux", "os:windows")})
        done, _ = self.build()
        self.assertNotEqual(done.returncode, 0, done.stdout)
        self.assertIn("platform property [gpu=", done.stdout)

    def test_a_machine_that_dies_over_its_work(self):
        self.start("three")
        names = list(self.service.workers)
        self.addCleanup(lambda: len(self.service.workers) > 2 and self.service.kill("three"))
        self.project.add({"BUILD.bazel": build_file(dtypes=["bf16"])})
        with self.all_at_work(names) as (building, planner):
            victim = next(name for name in reversed(names) if name != planner)
            self.assertEqual((self.fresh(victim), self.fresh(victim, "did")), (["cast"], []))
            self.service.kill(victim)
        building.result(timeout=120)
        self.assertEqual(self.fresh(victim, "did"), [])
        self.assertEqual(self.done(), {"plan": 1, "cast": SHARDS, "link": 1})
        lost = self.service.said(victim, "took")[-1][2]
        self.assertIn(lost, [line[2] for line in self.leases("did")], "what the dead machine had is what another did")
        self.assertEqual(self.outputs(), self.by_hand(dtype="bf16"))

    @contextlib.contextmanager
    def all_at_work(self, names):
        """A build, and who has planned, when each of these workers has a part of it in its hands; they wait until the block ends. So none
        does all before the others are awake."""
        for name in names:
            self.hold(name).touch()
        with concurrent.futures.ThreadPoolExecutor() as pool:
            building = pool.submit(self.built)
            try:
                self.until(lambda: any(self.fresh(name) for name in names), building)
                planner = next(name for name in names if self.fresh(name))
                self.hold(planner).unlink()
                self.until(lambda: self.fresh(planner, "did"), building)
                self.hold(planner).touch()
                self.until(lambda: all("cast" in self.fresh(name) for name in names), building)
                yield building, planner
            finally:
                for name in names:
                    self.hold(name).unlink(missing_ok=True)

    def until(self, holds, building):
        end = time.monotonic() + 60
        while not holds():
            if building.done():
                building.result()
                self.fail("the build ended")
            if time.monotonic() > end:
                self.fail(self.service.texts())
            time.sleep(0.02)

    def test_what_is_wrong_is_told_and_kept_nowhere(self):
        whole = (self.project.folder / "model.onnx").read_bytes()
        self.project.add({"BUILD.bazel": build_file(level="OD"), "model.onnx": whole[:-len(whole) // 3]})
        by_hand = run(PREFIX / "bin" / "ampc", "plan", "team.amp", "model.onnx", "-o", self.folder / "none", "--shards", SHARDS, cwd=self.project.folder)
        self.assertEqual(by_hand.returncode, 1, by_hand.stdout)
        self.assertIn("error", by_hand.stdout)
        for times in (1, 2):  # a failure is not remembered
            done, _ = self.build()
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertIn(by_hand.stdout.strip(), done.stdout)
            self.assertEqual(self.done(), {"plan": times})
        self.project.add({"model.onnx": whole})
        self.built()
        self.assertEqual(self.done(), {"plan": 3, "cast": SHARDS, "link": 1})
        self.assertEqual(self.outputs(), self.by_hand("--level", "OD"))

        # A target may ask for a machine that there is none of.
        self.project.add({"BUILD.bazel": build_file(level="OD", dtypes=["bf16"], exec_properties={"gpu": "many"})})
        done, _ = self.build()
        self.assertNotEqual(done.returncode, 0, done.stdout)
        self.assertIn("platform property [gpu=", done.stdout)

        # Weights that are not read beforehand are found out at the end, by another action.
        self.setUp()
        self.project.add({"BUILD.bazel": build_file(level="OD", unmeasured=True), **beyond_range(self.folder)})
        done, _ = self.build()
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("layers.0.up.weight", done.stdout)
        self.assertEqual(self.done(), {"plan": 1, "cast": SHARDS, "link": 1})
        self.assertFalse(self.outputs())
        self.project.add({"BUILD.bazel": build_file(level="OD")})
        self.built()
        self.assertEqual(self.outputs(), self.by_hand("--level", "OD"))


def digests(paths):
    """What is in the models and their data files, by name."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in paths if path.suffix in (".onnx", ".data")}


def beyond_range(folder):
    """The model with a weight that fp16 does not hold, as files of a workspace."""
    model = onnx.load(folder / "model.onnx", load_external_data=False)
    (weight,) = [t for t in model.graph.initializer if t.name == "layers.0.up.weight"]
    place = {entry.key: int(entry.value) for entry in weight.external_data if entry.key != "location"}
    at = place["offset"] + place["length"] // 8 * 4  # the beginning is read in any case
    data = bytearray((folder / "model.onnx.data").read_bytes())
    data[at:at + 4] = struct.pack("<f", 1e6)
    return {"model.onnx.data": bytes(data)}


def prefix_of(build, folder):
    """What ampc's archive has: a program with the libraries that it needs."""
    for component in ("ampc", "libraries"):
        done = run(shutil.which("cmake"), "--install", build, "--prefix", folder / "prefix", "--component", component)
        if done.returncode != 0:
            sys.exit(done.stdout)
    return folder / "prefix"


def main():
    global ARGS, PREFIX, PYTHON
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--cache", type=Path, required=True)
    ARGS, rest = parser.parse_known_args()
    missing = bazel_tool.missing() or debian.missing("postgresql", service.postgres)
    if not missing:
        try:
            PYTHON = service.environment(ARGS.cache)
        except subprocess.CalledProcessError as error:
            missing = f"BuildGrid cannot be had: {(error.stderr or str(error)).strip().splitlines()[-1]}"
    if missing:
        print(f"skipped: {missing}")
        return 77
    with tempfile.TemporaryDirectory() as folder, bazel_tool.stopped(Path(folder).resolve()):
        PREFIX = prefix_of(ARGS.build.resolve(), Path(folder).resolve())
        return not unittest.main(argv=[sys.argv[0], *rest], exit=False).result.wasSuccessful()


if __name__ == "__main__":
    os.umask(0o022)
    sys.exit(main())
