"""Build tools under test: each makes one model by one rule file, and tells how often it ran ampc for that."""

import os
import shlex
import shutil
import subprocess
import sys
import time
import venv
from pathlib import Path

OLDEST_CMAKE = "3.20.5"


def clean_environment(**more):
    """Nothing of who runs the test: another make's flags, a prefix that has another ampc."""
    keep = {k: v for k, v in os.environ.items() if k in ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "LD_LIBRARY_PATH",
                                                         "ASAN_OPTIONS", "UBSAN_OPTIONS")}
    return {**keep, "CCACHE_DISABLE": "1", "NO_COLOR": "1", **{k: str(v) for k, v in more.items()}}


def run(*command, cwd=None, env=None, timeout=300):
    return subprocess.run([str(c) for c in command], cwd=cwd, env=env or clean_environment(), text=True, timeout=timeout,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def install(build, prefix, cmake):
    """Installs what the build folder has; the program counts its runs in `prefix`/runs."""
    done = run(cmake, "--install", build, "--prefix", prefix, "--component", "ampc")
    assert done.returncode == 0, done.stdout
    program = prefix / "bin" / "ampc"
    program.rename(prefix / "bin" / "ampc.bin")
    program.write_text(f'#!/bin/sh\necho >>{shlex.quote(str(prefix / "runs"))}\nexec {shlex.quote(str(prefix / "bin/ampc.bin"))} "$@"\n')
    program.chmod(0o755)


def oldest_cmake(cache):
    """The oldest CMake that the package is for, out of the cache or from PyPI; nothing where that cannot be had."""
    folder = cache / f"cmake-{OLDEST_CMAKE}"
    cmake = folder / "bin" / "cmake"
    if not cmake.exists():
        fresh = cache / f"cmake-{OLDEST_CMAKE}.{os.getpid()}"
        try:
            venv.create(fresh, with_pip=True)
            subprocess.run([fresh / "bin" / "python", "-m", "pip", "install", "-q", "--disable-pip-version-check", "--target",
                            fresh / "package", f"cmake=={OLDEST_CMAKE}"], check=True, stdout=sys.stderr, timeout=300)
            (fresh / "package" / "cmake" / "data").rename(fresh / "data")
        except (OSError, subprocess.SubprocessError) as error:
            print(f"CMake {OLDEST_CMAKE} cannot be had: {error}")
            shutil.rmtree(fresh, ignore_errors=True)
            return None
        if not folder.exists():
            (fresh / "data").rename(folder)
        shutil.rmtree(fresh, ignore_errors=True)
    for program in (folder / "bin").iterdir():
        program.chmod(0o755)
    return cmake


class Tool:
    """A project in `folder` that makes `output` of `model` by `rules`."""

    def __init__(self, folder, prefix, model, rules, output):
        self.folder, self.prefix, self.model, self.rules = folder, prefix, model, rules
        self.output = folder / "build" / output
        self.program = prefix / "bin" / "ampc"
        (folder / "build").mkdir()

    def build(self):
        """The finished process, and how often ampc ran."""
        runs = self.prefix / "runs"
        runs.write_text("")
        time.sleep(0.015)  # what was written before shall be older than what is written now
        done = run(*self.command(), cwd=self.folder)
        time.sleep(0.015)
        return done, len(runs.read_text())

    def depfile(self):
        return self.folder / "build" / "model.d"

    def shell_line(self, *more):
        return shlex.join(map(str, [self.program, self.rules, self.model, "-o", self.output, "--dtype", "fp16", "-q",
                                    "--depfile", self.depfile(), *more]))


    def steps(self, *more):
        """The same in two shards: (output, what it is made of, depfile, command line) of each step."""
        plan = self.folder / "build" / "p"
        shards = [plan.with_name(f"{i}.shard") for i in (1, 2)]
        steps = [(plan, [self.model, self.rules], ["plan", self.rules, self.model, "--shards", 2, "--dtype", "fp16", *more])]
        steps += [(shard, [plan], ["cast", "--plan", plan, "--shard", f"{i}/2"]) for i, shard in enumerate(shards, 1)]
        steps.append((self.output, [plan, *shards], ["link", "--plan", plan, *shards]))
        for number, (output, inputs, args) in enumerate(steps):
            depfile = self.folder / "build" / f"{number}.d"
            yield output, inputs, depfile, shlex.join(map(str, [self.program, *args, "-o", output, "-q"]))


class Make(Tool):
    def write(self):
        name = self.name
        line = self.shell_line("-MP").replace("--depfile", "-MD -MF").replace("$", "$$")  # make takes no '#' in a recipe for a comment
        (self.folder / "Makefile").write_text(f"{name(self.output)}: {name(self.model)} {name(self.rules)}\n\t{line}\n"
                                              f"-include build/model.d\n")

    @staticmethod
    def name(path):
        return str(path).replace("$", "$$").replace("#", "\\#").replace(" ", "\\ ")

    def command(self):
        return ["make"]


class ShardedMake(Make):
    more = ()

    def write(self):
        text = f"all: {self.name(self.output)}\n"
        for output, inputs, depfile, line in self.steps(*self.more):
            line = f"{line} -MD -MF {shlex.quote(str(depfile))} -MP".replace("$", "$$")
            text += f"{self.name(output)}: {' '.join(map(self.name, inputs))}\n\t{line}\n-include build/{depfile.name}\n"
        (self.folder / "Makefile").write_text(text)


class Ninja(Tool):
    def write(self):
        name = self.name
        line = self.shell_line("--write-if-changed").replace("$", "$$")
        (self.folder / "build.ninja").write_text(
            f"rule ampc\n  command = {line}\n  depfile = build/model.d\n  restat = 1\n"
            f"build {name(self.output)}: ampc {name(self.model)} | {name(self.rules)}\n")

    @staticmethod
    def name(path):
        return str(path).replace("$", "$$").replace(" ", "$ ").replace(":", "$:")

    def command(self):
        return ["ninja"]


class ShardedNinja(Ninja):
    """Each output stays as it is where its bytes do, and with it what comes after."""
    more = ()

    def write(self):
        text = ""
        for number, (output, inputs, depfile, line) in enumerate(self.steps(*self.more)):
            line = f"{line} -MMD -MF{shlex.quote(str(depfile))} --write-if-changed".replace("$", "$$")
            text += (f"rule step{number}\n  command = {line}\n  depfile = build/{depfile.name}\n  restat = 1\n"
                     f"build {self.name(output)}: step{number} {' '.join(map(self.name, inputs))}\n")
        (self.folder / "build.ninja").write_text(text)


def unmeasured(tool):
    return type(tool.__name__, (tool,), {"more": ("--unmeasured",)})


class CMake(Tool):
    cmake = None
    generator = None

    def write(self):
        (self.folder / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.20)\nproject(truth LANGUAGES NONE)\nfind_package(ampc CONFIG REQUIRED)\n"
            f"amp_compile_model(TARGET model MODEL [==[{self.model}]==] RULES [==[{self.rules}]==] DTYPE fp16\n"
            f"  OUTPUT [==[{self.output.name}]==])\n")
        done = run(self.cmake, "-G", self.generator, "-S", self.folder, "-B", self.folder / "build",
                   f"-DCMAKE_PREFIX_PATH={self.prefix}")
        assert done.returncode == 0, done.stdout

    def command(self):
        return [self.cmake, "--build", "build"]


def cmake_tool(cmake, generator):
    return type("CMake", (CMake,), {"cmake": cmake, "generator": generator})
