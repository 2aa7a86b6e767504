#!/usr/bin/env python3
"""The manual page, and what bash, zsh and fish complete, each in the real program.

    shells.py --ampc PATH [TEST…]

A test of a shell that is not installed is skipped by name. zsh and fish are Debian packages of these names.
"""

import argparse
import json
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

ARGS = None


def ampc(*args):
    done = subprocess.run([ARGS.ampc, *args], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def needs(program):
    return unittest.skipUnless(shutil.which(program), f"there is no {program}")


def commands():
    """All commands, and what they say of their options; None is `ampc RULES MODEL`."""
    names = re.findall(r"^  ampc (\w+)", ampc("--help"), re.MULTILINE)
    return {name: json.loads(ampc(*([name] if name else []), "--describe-options")) for name in [None, *names]}


class Folder(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        for name in ["team.amp", "team rules.amp", "encoder.onnx", "notes.txt"]:
            (self.folder / name).touch()
        (self.folder / "models").mkdir()


class Man(Folder):
    def test_every_command_and_option_is_in_it(self):
        page = ampc("help", "--man").replace("\\-", "-")
        for command, told in commands().items():
            self.assertIn(f'.SS "ampc {command}"' if command else ".SH OPTIONS", page)
            for option in told["options"]:
                self.assertIn(f"\\fB{option['names'][-1]}\\fR", page)

    @needs("groff")
    def test_groff_has_nothing_to_say(self):
        page = self.folder / "ampc.1"
        page.write_text(ampc("help", "--man"))
        done = subprocess.run(["groff", "-man", "-ww", "-z", "-Tutf8", "-k", page], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    @needs("man")
    def test_man_shows_it(self):
        page = self.folder / "ampc.1"
        page.write_text(ampc("help", "--man"))
        done = subprocess.run(["man", "--warnings", "-l", page], capture_output=True, text=True,
                              env={**os.environ, "MANPAGER": "cat", "PAGER": "cat", "MANWIDTH": "100", "LC_ALL": "C.UTF-8"})
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        text = re.sub(r".\x08|\x1b\[[0-9;]*m", "", done.stdout)
        self.assertIn("--dtype fp16|bf16", text)
        self.assertIn("ampc fmt", text)


# Command line, what is offered for its last word at least, and never.
OFFERS = [
    (["ch"], {"check"}, {"help"}),
    (["--dt"], {"--dtype"}, {"--depfile"}),
    (["--dtype", ""], {"fp16", "bf16"}, {"team.amp"}),
    (["fmt", "--c"], {"--check", "--color"}, {"--diff"}),
    (["fmt", ""], {"team.amp"}, {"encoder.onnx", "notes.txt"}),
    (["explain", "team.amp", ""], {"encoder.onnx"}, {"notes.txt"}),
    (["explain", "-I", "models", "team.amp", "--js"], {"--json"}, {"--list"}),
    (["team.amp", "--emit", "on"], {"onnx"}, {"rules"}),
    (["help", ""], {"check", "fmt"}, {"team.amp"}),
    (["help", "--completions", ""], {"bash", "zsh", "fish"}, {"team.amp"}),
]


class Bash(Folder):
    def offered(self, words):
        script = (f"source <('{ARGS.ampc}' help --completions bash)\n"
                  "COMP_WORDS=(ampc \"$@\"); COMP_CWORD=$#; _ampc; printf '%s\\n' \"${COMPREPLY[@]}\"\n")
        done = subprocess.run(["bash", "-uc", script, "bash", *words], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return set(done.stdout.splitlines())

    def test_offers(self):
        for words, some, none in OFFERS:
            with self.subTest(words):
                offered = self.offered(words)
                self.assertLessEqual(some, offered)
                self.assertFalse(none & offered)

    def test_every_option_of_every_command(self):
        for command, told in commands().items():
            for option in told["options"]:
                for name in option["names"]:
                    self.assertIn(name, self.offered([*([command] if command else []), name]))
                if "choices" in option:
                    words = [*([command] if command else []), option["names"][-1], ""]
                    self.assertEqual(self.offered(words), set(option["choices"]))

    def test_values_behind_an_equals_sign(self):
        self.assertEqual(self.offered(["--dtype", "="]), {"fp16", "bf16"})
        self.assertEqual(self.offered(["--dtype", "=", "b"]), {"bf16"})
        self.assertIn("encoder.onnx", self.offered(["team.amp", "--dtype", "=", "bf16", "e"]))

    def test_at_a_prompt(self):
        script = self.folder / "completions"
        script.write_text(ampc("help", "--completions", "bash"))
        shown = typed(["bash", "--norc", "--noprofile", "-i"], self.folder,
                      [f"source '{script}'\n", "ampc fmt --chec\t", "team\\ \t\n"])
        self.assertRegex(shown, r"ampc fmt --check team\\ rules\.amp")


class Zsh(Folder):
    @needs("zsh")
    def test_at_a_prompt(self):
        functions = self.folder / "functions"
        functions.mkdir()
        (functions / "_ampc").write_text(ampc("help", "--completions", "zsh"))
        shown = typed(["zsh", "-f", "-i"], self.folder,
                      [f"PS1='> '; fpath=('{functions}' $fpath); autoload -Uz compinit; compinit -u -D; setopt no_beep\n",
                       "ampc che\t--mod\tenc\t\n", "ampc team.a\t--emit on\t\n", "ampc --dtype=b\t\n",
                       "ampc help --completions fi\t\n", "ampc fmt --diag\tsar\tteam.\t\n"])
        for line in ["ampc check --model=encoder.onnx", "ampc team.amp --emit onnx", "ampc --dtype=bf16",
                     "ampc help --completions fish", "ampc fmt --diagnostics=sarif team.amp"]:
            self.assertIn(line, shown)

    @needs("zsh")
    def test_the_script_is_sound(self):
        script = self.folder / "_ampc"
        script.write_text(ampc("help", "--completions", "zsh"))
        done = subprocess.run(["zsh", "-fn", script], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))


class Fish(Folder):
    @needs("fish")
    def test_offers(self):
        script = self.folder / "ampc.fish"
        script.write_text(ampc("help", "--completions", "fish"))
        for words, some, none in OFFERS:
            # Files are offered all, those with the suffix first.
            none = {name for name in none if "." not in name}
            with self.subTest(words):
                done = subprocess.run(["fish", "--no-config", "-c", f"source '{script}'; complete -C 'ampc {' '.join(words)}'"],
                                      cwd=self.folder, capture_output=True, text=True,
                                      env={**os.environ, "HOME": str(self.folder), "XDG_DATA_HOME": str(self.folder)})
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                offered = {line.split("\t")[0] for line in done.stdout.splitlines()}
                self.assertLessEqual(some, offered)
                self.assertFalse(none & offered)


class Install(Folder):
    def test_all_of_it_is_installed(self):
        build = Path(ARGS.ampc).parent.parent
        if not (build / "cmake_install.cmake").exists() or not shutil.which("cmake"):
            self.skipTest("the program is in no build folder, or there is no cmake")
        done = subprocess.run(["cmake", "--install", build, "--prefix", self.folder / "prefix", "--component", "ampc"],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        share = self.folder / "prefix" / "share"
        for name, told in [("man/man1/ampc.1", ["--man"]), ("bash-completion/completions/ampc", ["--completions", "bash"]),
                           ("zsh/site-functions/_ampc", ["--completions", "zsh"]),
                           ("fish/vendor_completions.d/ampc.fish", ["--completions", "fish"])]:
            self.assertEqual((share / name).read_text(), ampc("help", *told))


def typed(program, folder, keys):
    """What a shell shows at a terminal where these are typed, each when it has answered the one before."""
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(folder)
        os.environ.update(TERM="dumb", LC_ALL="C.UTF-8", PS1="> ", HOME=str(folder), COLUMNS="200")
        os.execvp(program[0], program)
    shown = ""

    def listen(quiet, most):
        nonlocal shown
        end = time.monotonic() + most
        while time.monotonic() < end and select.select([terminal], [], [], quiet)[0]:
            try:
                shown += os.read(terminal, 65536).decode(errors="replace")
            except OSError:
                return

    listen(1.0, 10)
    for part in keys:
        for key in re.findall(r"[^\t\n]+|\t|\n", part):
            os.write(terminal, key.encode())
            listen(0.5 if key in "\t\n" else 0.1, 5)
    os.write(terminal, b"\x03exit\n")
    listen(0.5, 5)
    os.close(terminal)
    os.waitpid(child, 0)
    return re.sub(r".\x08", "", shown.replace("\r", ""))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ampc", required=True)
    ARGS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
