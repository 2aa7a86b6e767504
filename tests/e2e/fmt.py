#!/usr/bin/env python3
"""ampc fmt over drawn rule files, and what it does with files, standard input and errors.

    fmt.py --ampc PATH [--count N] [--seed N] [TEST…]

Statements of every kind, drawn by rule_maker.py, are written down with blanks, line ends and comments anywhere between
their words. Laid out, a file is a fixed point, keeps its comments, and means the same: `--emit rules` prints what it
printed before, or reports the same faults.
"""

import argparse
import os
import random
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import graph_maker
import rule_maker
from compiler import REPOSITORY

ARGS = None
NOBODY = 65534
WORD = re.compile(r'"(?:[^"\\\n]|\\.)*"|/(?:[^/\\\n]|\\.)+/|[^\s"/]+')
TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|/(?:[^/\\\n*]|\\.)(?:[^/\\\n]|\\.)*/|\s+|#[^\n]*|///[^\n]*|[^\s"/#]+|.')
MESSY = "amp 1\n\n\nallow   MatMul,Gemm # products\ndeny Exp\n"
NEAT = "amp 1\n\nallow MatMul, Gemm  # products\ndeny Exp\n"


def ampc(*args, text=None):
    return subprocess.run([ARGS.ampc, *map(str, args)], capture_output=True, text=True, input=text, timeout=120)


def mess_up(rng, text):
    """The same words with other blanks between them, and comments."""
    result, count = [], 0
    for word in WORD.findall(text):
        result.append(word)
        kind = rng.random()
        if kind < 0.05:
            count += 1
            result.append(rng.choice(["#", " # ", "\t#", "\n  # ", "\n\n#", "\n/// "]) + f"comment {count} " + "\n" * rng.randint(1, 3))
        elif kind < 0.2:
            result.append(rng.choice(["\n", "\r\n", "\n\n\n", " \n\t "]))
        else:
            result.append(rng.choice([" ", " ", "  ", "\t", "      "]))
    return "amp 1" + rng.choice([" ", "\n", "\n\n"]) + "".join(result)


def comments(text):
    return [t.rstrip() for t in TOKEN.findall(text) if t.startswith(("#", "///"))]


class Drawn(unittest.TestCase):
    def test_fixed_point(self):
        count = ARGS.count or (10_000 if os.environ.get("AMPC_FULL") else 300)
        seed = ARGS.seed if ARGS.seed is not None else random.randrange(1 << 30)
        print(f"{count} files, seed {seed}")
        rng = random.Random(seed)
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        levels = REPOSITORY / "rules" / "levels.amp"
        files = []
        maker = None
        for i in range(count):
            if i % 50 == 0:
                maker = rule_maker.RuleMaker(rng, graph_maker.make(rng, rng.choice([8, 20, 40]))[0])
            maker.has_level = False
            statements = [maker.draw().texts[0] for _ in range(rng.choice([1, 1, 1, 2, 3, 12]))]
            path = folder / f"{i}.amp"
            path.write_text(mess_up(rng, "\n".join([f'import "{levels}"', *statements])))
            files.append(path)

        def meaning(path):
            done = ampc(path, "--emit", "rules")
            codes = sorted(re.findall(r"(?:error|warning)\[(AMPC\d+)\]: (.*)", done.stderr))
            return done.returncode, done.stdout, codes

        before = [p.read_bytes().decode() for p in files]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            meant = list(pool.map(meaning, files))
        wrong = set()
        for at in range(0, count, 500):
            done = ampc("fmt", *files[at:at + 500])
            self.assertEqual(done.stdout, "")
            wrong |= {Path(p) for p in re.findall(r"^(.*\.amp):\d+:\d+: error\[AMPC00", done.stderr, re.MULTILINE)}
            done = ampc("fmt", "--check", *files[at:at + 500])
            self.assertEqual(done.stdout, "", "a second run would change more")
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            for path, text, old, new in zip(files, before, meant, pool.map(meaning, files)):
                laid_out = path.read_bytes().decode()
                if path in wrong:
                    self.assertEqual(text, laid_out)
                    continue
                self.assertEqual(old, new, f"{text}\n---\n{laid_out}")
                self.assertEqual(comments(text), comments(laid_out), f"{text}\n---\n{laid_out}")
                self.assertNotRegex(laid_out, r"\r|\t|[ ]\n|\n\n\n|\n\n$")
        compiled = sum(m[0] == 0 for m in meant)
        print(f"{compiled} of them compile, {len(wrong)} have errors of syntax")
        self.assertGreater(compiled, count / 3)
        self.assertLess(len(wrong), count / 10)


class Command(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.path = self.folder / "a.amp"

    def test_in_place(self):
        self.path.write_text(MESSY)
        self.path.chmod(0o640)
        done = ampc("fmt", self.path)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        self.assertEqual(self.path.read_text(), NEAT)
        self.assertEqual(stat.S_IMODE(self.path.stat().st_mode), 0o640)
        self.assertEqual([p.name for p in self.folder.iterdir()], ["a.amp"], "nothing is left over")

    def test_what_is_laid_out_is_not_written(self):
        self.path.write_text(NEAT)
        os.utime(self.path, ns=(1, 1))
        self.assertEqual(ampc("fmt", self.path).returncode, 0)
        self.assertEqual(self.path.stat().st_mtime_ns, 1)

    def test_a_link_stays_one(self):
        self.path.write_text(MESSY)
        link = self.folder / "link.amp"
        link.symlink_to("a.amp")
        self.assertEqual(ampc("fmt", link).returncode, 0)
        self.assertTrue(link.is_symlink())
        self.assertEqual(self.path.read_text(), NEAT)

    def test_check_and_diff_write_nothing(self):
        self.path.write_text(MESSY)
        good = self.folder / "b.amp"
        good.write_text(NEAT)
        done = ampc("fmt", "--check", self.path, good)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stdout, f"{self.path}\n")
        self.assertEqual(done.stderr, "1 of 2 files is not laid out as `ampc fmt` does it\n")
        done = ampc("fmt", "--diff", self.path, good)
        self.assertEqual(done.returncode, 0)
        self.assertEqual(done.stdout, f"--- {self.path}\n+++ {self.path}\n@@ -1,5 +1,4 @@\n amp 1\n \n-\n"
                         "-allow   MatMul,Gemm # products\n+allow MatMul, Gemm  # products\n deny Exp\n")
        self.assertEqual(ampc("fmt", "--diff", "--check", self.path).returncode, 1)
        self.assertEqual(self.path.read_text(), MESSY)
        self.assertEqual(ampc("fmt", "--check", good).returncode, 0)

    def test_the_difference_is_one_that_patch_takes(self):
        self.path.write_text("amp 1\n" + "".join(f"deny  A{i}\n" * (i % 7 == 0) + f"allow A{i}\n" for i in range(60)))
        difference = ampc("fmt", "--diff", self.path).stdout
        done = subprocess.run(["git", "apply", "-p0", "--unsafe-paths", "-"], cwd=self.folder, text=True,
                              input=difference.replace(f"{self.path}", "a.amp"), capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(ampc("fmt", "--check", self.path).returncode, 0)

    def test_standard_input(self):
        done = ampc("fmt", "-", text=MESSY)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, NEAT, ""))
        done = ampc("fmt", "--check", "-", text=MESSY)
        self.assertEqual((done.returncode, done.stdout), (1, "<stdin>\n"))
        self.assertIn("+allow MatMul, Gemm", ampc("fmt", "--diff", "-", text=MESSY).stdout)
        done = ampc("fmt", "-", text="amp 1\nallow\n")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("<stdin>:2:1: error[AMPC0010]", done.stderr)

    def test_byte_order_mark_and_line_ends(self):
        self.path.write_bytes(b"\xef\xbb\xbf" + NEAT.encode())
        self.assertEqual(ampc("fmt", "--check", self.path).returncode, 1)
        self.assertEqual(ampc("fmt", self.path).returncode, 0)
        self.assertEqual(self.path.read_text(), NEAT)
        self.path.write_bytes(NEAT.replace("\n", "\r\n").encode())
        self.assertEqual(ampc("fmt", self.path).returncode, 0)
        self.assertEqual(self.path.read_bytes(), NEAT.encode())

    def test_a_wrong_file_stays_and_the_others_are_done(self):
        wrong = {"syntax": "amp 1\nallow  MatMul\ndeny ,\n", "version": "amp 7\nallow  MatMul\n", "empty": "",
                 "model": "\x08\x07\x12\x04"}
        for name, text in wrong.items():
            (self.folder / name).write_text(text)
        self.path.write_text(MESSY)
        done = ampc("fmt", *(self.folder / name for name in wrong), self.path, self.folder / "none.amp")
        self.assertEqual(done.returncode, 1)
        for name, text in wrong.items():
            self.assertEqual((self.folder / name).read_text(), text)
            self.assertIn(str(self.folder / name), done.stderr)
        self.assertIn("does not exist", done.stderr)
        self.assertEqual(done.stderr.count("error["), len(wrong) + 1)
        self.assertEqual(self.path.read_text(), NEAT)

    def test_a_place_that_cannot_be_written(self):
        self.path.write_text(MESSY)
        self.folder.chmod(0o555)
        self.addCleanup(self.folder.chmod, 0o755)
        user = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
        program = self.folder.parent / f"{self.folder.name}-ampc"  # where anybody reaches it
        shutil.copy(ARGS.ampc, program)
        self.addCleanup(program.unlink)
        done = subprocess.run([program, "fmt", self.path], capture_output=True, text=True, **user)
        self.assertEqual(done.returncode, 1)
        self.assertIn("error[AMPC2001]", done.stderr)
        self.assertEqual(self.path.read_text(), MESSY)

    def test_no_file_is_wrong_usage(self):
        done = ampc("fmt")
        self.assertEqual(done.returncode, 2)
        self.assertIn("ampc fmt --help", done.stderr)

    def test_what_readme_shows_is_laid_out(self):
        shown = re.findall(r"^```\n(amp 1\b.*?)^```$", (REPOSITORY / "README.md").read_text(), re.DOTALL | re.MULTILINE)
        self.assertTrue(shown)
        for text in shown:
            self.assertEqual(ampc("fmt", "--diff", "-", text=text).stdout, "")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ampc", required=True)
    parser.add_argument("--count", type=int)
    parser.add_argument("--seed", type=int)
    ARGS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
