#!/usr/bin/env python3
"""Wrong input (R31): one clear error that names file and place, the right exit status, and no output touched.

    wrong_input.py --ampc PATH [-v] [TEST…]
"""

import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from compiler import DEFAULT_RULES, Compiler

COMPILER = None
ERROR = re.compile(r"\berror(?:\[(AMPC\d+)\])?:")
NOBODY = 65534
OK, WRONG_INPUT, USAGE = 0, 1, 2

MINIMAL_RULES = "amp 1\nlevel O1 { default fp32 weights use }\ndtype fp16\nlevel O1\nallow MatMul, Relu, Add\n"


def value(name, shape=(4, 4), elem=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, elem, list(shape))


def model(nodes=None, inputs=(), outputs=(), initializers=(), opset=17):
    """x @ w, relu, unless told otherwise."""
    nodes = nodes or [helper.make_node("MatMul", ["x", "w"], ["m"], name="product"),
                      helper.make_node("Relu", ["m"], ["y"], name="bend")]
    weights = list(initializers) or [numpy_helper.from_array(np.eye(4, dtype=np.float32), "w")]
    graph = helper.make_graph(nodes, "g", list(inputs) or [value("x")], list(outputs) or [value("y")], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def external(location, length=64, offset=0):
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[4, 4], data_location=TensorProto.EXTERNAL)
    for key, text in (("location", location), ("offset", offset), ("length", length)):
        tensor.external_data.add(key=key, value=str(text))
    return tensor


class WrongInput(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.path = self.folder / "model.onnx"
        self.out_folder = self.folder / "out"
        self.out_folder.mkdir()
        self.out = self.out_folder / "result.onnx"
        self.rules = DEFAULT_RULES

    def save(self, content):
        self.path.write_bytes(content if isinstance(content, bytes) else content.SerializeToString())

    def run_ampc(self, *more):
        return COMPILER.run(self.path, self.out, more=more, rules=str(self.rules))

    def assert_fails(self, done, *words, code=None, errors=1, status=WRONG_INPUT):
        """Exit status, the number of errors, the code among them, and words that the message must hold."""
        said = done.stderr
        self.assertEqual(done.returncode, status, said)
        self.assertEqual(done.stdout, "", "an error belongs on stderr alone")
        found = ERROR.findall(said)
        self.assertEqual(len(found), errors, said)
        if code:
            self.assertIn(code, found, said)
        for word in words:
            self.assertIn(str(word), said)

    def assert_rejected(self, *words, code=None, errors=1, file=None):
        """This model or these rules are refused, whether an output is there already or not."""
        done = self.run_ampc()
        self.assert_fails(done, file or self.path, *words, code=code, errors=errors)
        self.assertEqual(list(self.out_folder.iterdir()), [], "no output, and no part of one")
        self.out.write_bytes(b"from an earlier run")
        self.assertEqual(self.run_ampc().returncode, WRONG_INPUT)
        self.assertEqual(self.out.read_bytes(), b"from an earlier run")
        self.assertEqual(list(self.out_folder.iterdir()), [self.out])

    def assert_compiles(self):
        self.assertEqual(self.run_ampc().returncode, OK, "the right model must pass, or the wrong one proves nothing")
        self.out.unlink()


class Files(WrongInput):
    def test_truncated(self):
        self.save(model())
        self.assert_compiles()
        whole = self.path.read_bytes()
        for cut in (len(whole) - 3, len(whole) // 2, 20):
            with self.subTest(bytes=cut):
                self.save(whole[:cut])
                self.out.unlink(missing_ok=True)
                self.assert_rejected(code="AMPC1002")

    def test_text(self):
        self.save(b"This is not a model.\nIt has two lines.\n")
        self.assert_rejected(code="AMPC1002")

    def test_empty(self):
        self.save(b"")
        self.assert_rejected()

    def test_no_graph(self):
        self.save(onnx.ModelProto(ir_version=8))
        self.assert_rejected()

    def test_random_bytes(self):
        self.save(np.random.default_rng(1).bytes(4096))
        self.assert_rejected(code="AMPC1002")

    def test_folder(self):
        self.path.mkdir()
        self.assert_rejected(code="AMPC1001")

    def test_missing(self):
        self.assert_rejected(code="AMPC1001")


class ExternalData(WrongInput):
    def external(self, tensor):
        self.save(model(initializers=[tensor]))

    def test_whole(self):
        self.external(external("w.bin"))
        (self.folder / "w.bin").write_bytes(bytes(64))
        self.assertEqual(self.run_ampc().returncode, OK)

    def test_missing(self):
        self.external(external("w.bin"))
        self.assert_rejected("w.bin", "'w'", code="AMPC1010")

    def test_short(self):
        (self.folder / "w.bin").write_bytes(bytes(63))
        self.external(external("w.bin"))
        self.assert_rejected("w.bin", code="AMPC1010")

    def test_offset_beyond(self):
        (self.folder / "w.bin").write_bytes(bytes(64))
        self.external(external("w.bin", offset=1 << 62))
        self.assert_rejected("w.bin")

    def test_length_is_not_the_shapes(self):
        (self.folder / "w.bin").write_bytes(bytes(64))
        self.external(external("w.bin", length=60))
        self.assert_rejected("'w'")

    def test_parent(self):
        inner = self.folder / "inner"
        inner.mkdir()
        (self.folder / "w.bin").write_bytes(bytes(64))
        self.path = inner / "model.onnx"
        self.external(external("../w.bin"))
        self.assert_rejected("../w.bin", code="AMPC1011")

    def test_absolute(self):
        place = self.folder / "w.bin"
        place.write_bytes(bytes(64))
        self.external(external(str(place)))
        self.assert_rejected(place, code="AMPC1011")

    def test_link_out(self):
        inner = self.folder / "inner"
        inner.mkdir()
        (self.folder / "w.bin").write_bytes(bytes(64))
        (inner / "w.bin").symlink_to(self.folder / "w.bin")
        self.path = inner / "model.onnx"
        self.external(external("w.bin"))
        self.assert_rejected("w.bin", code="AMPC1011")


class Graphs(WrongInput):
    def test_two_producers(self):
        self.save(model([helper.make_node("Relu", ["x"], ["y"], name="first"),
                         helper.make_node("Tanh", ["x"], ["y"], name="second")]))
        self.assert_rejected("'y'", "second", code="AMPC1004")

    def test_input_made_again(self):
        self.save(model([helper.make_node("Relu", ["x"], ["x"], name="first"), helper.make_node("Tanh", ["x"], ["y"])]))
        self.assert_rejected("'x'", "first", code="AMPC1004")

    def test_shadowed_in_a_branch(self):
        # A value of the main graph, made before the If and again in its branch.
        then = helper.make_graph([helper.make_node("Tanh", ["x"], ["h"], name="inner")], "then", [], [value("h")])
        other = helper.make_graph([helper.make_node("Neg", ["x"], ["e"])], "else", [], [value("e")])
        self.save(model([helper.make_node("Relu", ["x"], ["h"]),
                         helper.make_node("If", ["c"], ["y"], then_branch=then, else_branch=other)],
                        inputs=[value("x"), value("c", (), TensorProto.BOOL)]))
        self.assert_rejected("'h'", code="AMPC1004")

    def test_cycle(self):
        self.save(model([helper.make_node("Add", ["x", "b"], ["a"], name="left"),
                         helper.make_node("Relu", ["a"], ["b"], name="right"), helper.make_node("Tanh", ["b"], ["y"])]))
        self.assert_rejected("left", "right", code="AMPC1006")

    def test_self_loop(self):
        self.save(model([helper.make_node("Add", ["x", "y"], ["y"], name="self")]))
        self.assert_rejected("self", code="AMPC1006")

    def test_operand_from_nowhere(self):
        self.save(model([helper.make_node("Add", ["x", "ghost"], ["y"], name="lonely")]))
        self.assert_rejected("'ghost'", "lonely", code="AMPC1005")

    def test_operand_from_a_sibling_branch(self):
        then = helper.make_graph([helper.make_node("Tanh", ["x"], ["t"])], "then", [], [value("t")])
        other = helper.make_graph([helper.make_node("Neg", ["t"], ["e"], name="thief")], "else", [], [value("e")])
        self.save(model([helper.make_node("If", ["c"], ["y"], then_branch=then, else_branch=other)],
                        inputs=[value("x"), value("c", (), TensorProto.BOOL)]))
        self.assert_rejected("'t'", "thief", code="AMPC1005")

    def test_output_from_nowhere(self):
        self.save(model([helper.make_node("Relu", ["x"], ["z"])]))
        self.assert_rejected("'y'", code="AMPC1005")

    def test_unknown_operator(self):
        self.save(model([helper.make_node("LayerNormalisation", ["x"], ["y"], name="typo")]))
        self.assert_rejected("LayerNormalisation", "typo", code="AMPC1008")

    def test_operator_of_a_later_opset(self):
        self.save(model([helper.make_node("Gelu", ["x"], ["y"], name="early")], opset=17))
        self.assert_rejected("Gelu", "17", code="AMPC1008")

    def test_type_clash(self):
        self.save(model([helper.make_node("Add", ["x", "k"], ["y"], name="mixed")],
                        inputs=[value("x"), value("k", elem=TensorProto.INT64)]))
        self.assert_rejected("mixed", "Add", code="AMPC1009")

    def test_bytes_do_not_fit_the_shape(self):
        weight = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[4, 4], raw_data=bytes(60))
        self.save(model(initializers=[weight]))
        self.assert_rejected("'w'", code="AMPC1012")


class Rules(WrongInput):
    def setUp(self):
        super().setUp()
        self.save(model())
        self.rules = self.folder / "team.amp"

    def write(self, text):
        self.rules.write_text(text)

    def test_minimal_rules_pass(self):
        self.write(MINIMAL_RULES)
        self.assert_compiles()

    def test_ten_mistakes(self):
        """Each on a line of its own; all are told, at their lines."""
        mistakes = ["allow MatMull",                                   # operator
                    "deny Flatten where axsi == 1",                    # attribute
                    "LayerNormalization arg 9 keep fp32",              # position
                    "LayerNormalization arg Scael keep fp32",          # operand
                    "dtype fp8",                                       # value of a setting
                    "overflow maybe",                                  # another
                    'import "nowhere.amp"',                            # file
                    "tensor /[a-/ keep fp32",                          # regular expression
                    "override deny Softmax",                           # nothing there to override
                    "follow Relu"]                                     # contradicts the allow of MINIMAL_RULES
        start = MINIMAL_RULES.count("\n") + 1
        self.write(MINIMAL_RULES + "\n".join(mistakes) + "\n")
        done = self.run_ampc()
        self.assertEqual(done.returncode, WRONG_INPUT)
        self.assertEqual(list(self.out_folder.iterdir()), [])
        for i, text in enumerate(mistakes):
            place = f"{self.rules}:{start + i}:"
            self.assertTrue(place in done.stderr, f"nothing is said of line {start + i}, {text!r}:\n{done.stderr}")
        self.assertEqual(len(ERROR.findall(done.stderr)), len(mistakes), done.stderr)
        for nearest in ("'MatMul'", "Scale", "axis", "^"):
            self.assertIn(nearest, done.stderr)

    def test_syntax(self):
        self.write(MINIMAL_RULES + "allow ,\n")
        self.assert_rejected(f"{self.rules}:6:", file=self.rules)

    def test_missing_file(self):
        self.assert_rejected(code="AMPC0401", file=self.rules)

    def test_import_cycle(self):
        (self.folder / "a.amp").write_text('amp 1\nimport "team.amp"\n')
        self.write(MINIMAL_RULES + 'import "a.amp"\n')
        self.assert_rejected("a.amp", "team.amp", code="AMPC0404", file=self.rules)

    def test_not_text(self):
        self.rules.write_bytes(b"amp 1\nallow \xff\xfe\n")
        self.assert_rejected(code="AMPC0403", file=self.rules)

    def test_model_as_rules(self):
        shutil.copy(self.path, self.rules)
        self.assert_rejected(code="AMPC0403", file=self.rules)

    def test_unknown_language_version(self):
        self.write(MINIMAL_RULES.replace("amp 1", "amp 2"))
        self.assert_rejected(f"{self.rules}:1:", code="AMPC0021", file=self.rules)

    def test_undefined_level(self):
        self.write(MINIMAL_RULES.replace("\nlevel O1\n", "\nlevel O11\n"))
        self.assert_rejected(f"{self.rules}:4:", "'O11'", "'O1'", code="AMPC0102", file=self.rules)


class Output(WrongInput):
    def setUp(self):
        super().setUp()
        self.save(model(initializers=[numpy_helper.from_array(np.ones((4, 4), np.float32), "w")]))

    def test_over_the_input(self):
        before = self.path.read_bytes()
        link = self.out_folder / "link.onnx"
        link.symlink_to(self.path)
        for spelling in (self.path, self.folder / "out" / ".." / "model.onnx", link):
            with self.subTest(out=str(spelling)):
                done = COMPILER.run(self.path, spelling)
                self.assert_fails(done, "model.onnx" if spelling != link else "link.onnx", code="AMPC2002")
                self.assertEqual(self.path.read_bytes(), before)

    def test_over_a_rule_file(self):
        rules = self.folder / "team.amp"
        rules.write_text(MINIMAL_RULES)
        done = COMPILER.run(self.path, rules, rules=str(rules))
        self.assert_fails(done, rules, code="AMPC2002")
        self.assertEqual(rules.read_text(), MINIMAL_RULES)

    def test_folder_that_is_not_there(self):
        self.out = self.folder / "nowhere" / "result.onnx"
        self.assert_fails(self.run_ampc(), self.out, code="AMPC2001")
        self.assertFalse(self.out.parent.exists())

    def test_read_only_folder(self):
        """As another user where the tests run as root, whom no permission stops."""
        rules = self.folder / "team.amp"
        rules.write_text(MINIMAL_RULES)
        program = self.folder / "ampc"
        shutil.copy(COMPILER.program, program)
        self.folder.chmod(0o755)
        self.out_folder.chmod(0o555)
        self.addCleanup(self.out_folder.chmod, 0o755)
        user = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
        done = subprocess.run([program, rules, self.path, "-o", self.out], capture_output=True, text=True, **user)
        self.assert_fails(done, self.out, code="AMPC2001")
        self.assertEqual(list(self.out_folder.iterdir()), [])

    def big_model(self):
        self.save(model([helper.make_node("MatMul", ["x", "w"], ["y"])], outputs=[value("y", (4, 65536))],
                        initializers=[numpy_helper.from_array(np.ones((4, 65536), np.float32), "w")]))

    def test_full_disk(self):
        """On a tmpfs too small for the output, in a mount namespace of its own."""
        self.big_model()
        script = 'mount -t tmpfs -o size=128k none "$1" || exit 77; "$2" "$3" "$4" -o "$1/result.onnx"; rc=$?; ls -A "$1"; exit $rc'
        unshare = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-Urm"]
        command = [*unshare, "sh", "-c", script, "sh", self.out_folder, COMPILER.program, DEFAULT_RULES, self.path]
        if shutil.which("unshare") is None:
            self.skipTest("there is no unshare here")
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode == 77 or "unshare" in done.stderr:
            self.skipTest(f"no tmpfs can be mounted here: {done.stderr.strip()}")
        self.assert_fails(done, self.out, code="AMPC2001")  # whose stdout is what `ls` shows: nothing

    def test_file_size_limit(self):
        """The same by a limit on file sizes, which needs no mount."""
        self.big_model()

        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (128 << 10, 128 << 10))

        done = subprocess.run([COMPILER.program, DEFAULT_RULES, self.path, "-o", self.out], capture_output=True, text=True,
                              preexec_fn=limit)
        self.assert_fails(done, self.out, code="AMPC2001")
        self.assertEqual(list(self.out_folder.iterdir()), [])


class Usage(WrongInput):
    def check(self, *arguments):
        done = subprocess.run([COMPILER.program, *map(str, arguments)], capture_output=True, text=True, cwd=self.out_folder)
        self.assertEqual(done.returncode, USAGE, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertNotEqual(done.stderr.strip(), "")
        self.assertEqual(list(self.out_folder.iterdir()), [])
        return done.stderr

    def test_nothing(self):
        self.check()

    def test_no_model(self):
        self.check(DEFAULT_RULES)

    def test_unknown_option(self):
        self.save(model())
        self.assertIn("--bogus", self.check(DEFAULT_RULES, self.path, "--bogus"))

    def test_values_that_are_none(self):
        self.save(model())
        for option, text in (("--dtype", "fp8"), ("--io", "both"), ("-j", "0"), ("-j", "many"), ("--emit", "poem")):
            with self.subTest(option=option, text=text):
                self.assertIn(text, self.check(DEFAULT_RULES, self.path, option, text))

    def test_undefined_level(self):
        self.save(model())
        said = self.check(DEFAULT_RULES, self.path, "--level", "O11")
        self.assertIn("'O11'", said)
        self.assertIn("O1, O2", said)

    def test_quiet_and_verbose(self):
        self.save(model())
        self.check(DEFAULT_RULES, self.path, "-q", "-v")


if __name__ == "__main__":
    if "--ampc" not in sys.argv:
        sys.exit("usage: wrong_input.py --ampc PATH [-v] [TEST…]")
    at = sys.argv.index("--ampc")
    COMPILER = Compiler(sys.argv[at + 1])
    del sys.argv[at:at + 2]
    unittest.main()
