#!/usr/bin/env python3
"""Models and weights in every place that they may lie: links, other file systems, many data files, shared ranges, and
what a build tool is told of them.

    file_places.py --ampc PATH [-v] [TEST…]
"""

import argparse
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from compiler import DEFAULT_RULES, Compiler

WIDTH = 40
SHM = Path("/dev/shm")


def weight(i):
    return (np.random.default_rng(i).standard_normal((WIDTH, WIDTH)) / WIDTH).astype(np.float32)


def outside(name, location, offset=0, dims=(WIDTH, WIDTH)):
    tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=dims, data_location=TensorProto.EXTERNAL)
    size = 4 * int(np.prod(dims))
    for key, value in (("location", location), ("offset", offset), ("length", size)):
        tensor.external_data.add(key=key, value=str(value))
    return tensor


def chain(weights, nodes=()):
    """Products with `weights`, one after another, behind `nodes`, which may make some of them."""
    products, value = [], "x"
    for i, name in enumerate(w if isinstance(w, str) else w.name for w in weights):
        products.append(helper.make_node("MatMul", [value, name], [f"m{i}"], name=f"product{i}"))
        value = f"m{i}"
    graph = helper.make_graph([*nodes, *products], "chain",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, WIDTH])],
                              [helper.make_tensor_value_info(value, TensorProto.FLOAT, [1, WIDTH])],
                              [w for w in weights if not isinstance(w, str)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def inside(weights):
    return chain([numpy_helper.from_array(w, f"w{i}") for i, w in enumerate(weights)])


def initializers(path):
    """Raw bytes by name. onnx's loader refuses links, so this reads the data itself."""
    found = {}
    for t in onnx.load(path, load_external_data=False).graph.initializer:
        if t.data_location == TensorProto.EXTERNAL:
            at = {e.key: e.value for e in t.external_data}
            with open(Path(path).parent / at["location"], "rb") as f:
                f.seek(int(at["offset"]))
                found[t.name] = f.read(int(at["length"]))
        else:
            found[t.name] = numpy_helper.to_array(t).tobytes()
    return found


class Places(unittest.TestCase):
    compiler: Compiler

    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.out_folder = self.folder / "out"
        self.out_folder.mkdir()
        self.out = self.out_folder / "result.onnx"

    def compile(self, model, *more, out=None, **keywords):
        done = self.compiler.run(model, out or self.out, more=more, **keywords)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def refused(self, model, *words, code, out=None, more=()):
        done = self.compiler.run(model, out or self.out, more=more)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(re.findall(r"error\[(\w+)\]", done.stderr), [code], done.stderr)
        for word in words:
            self.assertIn(str(word), done.stderr)
        self.assertEqual(list(self.out_folder.glob(".*")), [])

    def write_data(self, path, weights, shift=0):
        path.write_bytes(bytes(shift) + b"".join(w.tobytes() for w in weights))

    def two_outside(self, folder, shift=0):
        """A model whose two weights lie in weights.bin, and what they must become."""
        weights = [weight(0), weight(1)]
        self.write_data(folder / "weights.bin", weights, shift)
        onnx.save(chain([outside(f"w{i}", "weights.bin", shift + i * w.nbytes) for i, w in enumerate(weights)]),
                  folder / "model.onnx")
        return {f"w{i}": w.astype(np.float16).tobytes() for i, w in enumerate(weights)}

    # ---- where weights lie

    def test_two_models_with_one_data_file(self):
        expected = self.two_outside(self.folder)
        onnx.save(chain([outside("w1", "weights.bin", 4 * WIDTH * WIDTH)]), self.folder / "second.onnx")
        before = (self.folder / "weights.bin").read_bytes()
        for more in ([], ["--external-data"]):
            self.compile(self.folder / "model.onnx", *more)
            self.compile(self.folder / "second.onnx", *more, out=self.out_folder / "second.onnx")
            self.assertEqual(initializers(self.out), expected)
            self.assertEqual(initializers(self.out_folder / "second.onnx"), {"w1": expected["w1"]})
        self.assertEqual((self.folder / "weights.bin").read_bytes(), before)

    def test_offsets_that_are_not_aligned(self):
        for shift in (1, 2, 3, 4097):
            with self.subTest(shift):
                expected = self.two_outside(self.folder, shift)
                for more in ([], ["--external-data"]):
                    self.compile(self.folder / "model.onnx", *more)
                    self.assertEqual(initializers(self.out), expected)
                self.compile(self.folder / "model.onnx", "--level", "O0")
                self.assertEqual(initializers(self.out), initializers(self.folder / "model.onnx"))

    def test_ranges_that_are_shared_or_overlap(self):
        data = np.random.default_rng(7).standard_normal(2 * WIDTH * WIDTH).astype(np.float32) / WIDTH
        (self.folder / "weights.bin").write_bytes(data.tobytes())
        offsets = {"a": 0, "b": 0, "c": 4 * 100, "d": 4 * WIDTH * WIDTH}
        onnx.save(chain([outside(n, "weights.bin", o) for n, o in offsets.items()]), self.folder / "model.onnx")
        expected = {n: data[o // 4:o // 4 + WIDTH * WIDTH].astype(np.float16).tobytes() for n, o in offsets.items()}
        for more in ([], ["--external-data"]):
            self.compile(self.folder / "model.onnx", *more)
            self.assertEqual(initializers(self.out), expected)
        self.assertLess((self.out_folder / "result.onnx.data").stat().st_size, 4 * 4096 + 1)

    def test_many_data_files(self):
        """As exporters write them: more files than a process may have open at first."""
        count = 300
        weights = [weight(i) for i in range(count)]
        for i, w in enumerate(weights):
            (self.folder / f"weight_{i}").write_bytes(w.tobytes())
        onnx.save(chain([outside(f"w{i}", f"weight_{i}") for i in range(count)]), self.folder / "model.onnx")
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        done = subprocess.run([self.compiler.program, DEFAULT_RULES, self.folder / "model.onnx", "-o", self.out],
                              capture_output=True, text=True,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, hard)))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(initializers(self.out), {f"w{i}": w.astype(np.float16).tobytes() for i, w in enumerate(weights)})

    def test_constants_and_bodies(self):
        weights = [weight(0), weight(1), weight(2)]
        self.write_data(self.folder / "weights.bin", weights)
        size = weights[0].nbytes
        constant = helper.make_node("Constant", [], ["c"], value=outside("c", "weights.bin", 0))
        branches = {
            name: helper.make_graph([helper.make_node("MatMul", ["m0", f"inner{i}"], [f"r{i}"])], name, [],
                                    [helper.make_tensor_value_info(f"r{i}", TensorProto.FLOAT, [1, WIDTH])],
                                    [outside(f"inner{i}", "weights.bin", (i + 1) * size)])
            for i, name in enumerate(("then_branch", "else_branch"))
        }
        model = chain(["c"], [constant])
        model.graph.input.append(helper.make_tensor_value_info("cond", TensorProto.BOOL, []))
        model.graph.node.append(helper.make_node("If", ["cond"], ["y"], **branches))
        model.graph.output[0].name = "y"
        onnx.save(model, self.folder / "model.onnx")
        for more in ([], ["--external-data"]):
            self.compile(self.folder / "model.onnx", *more)
            result = onnx.load(self.out)
            found = [a.t for n in result.graph.node for a in n.attribute if a.name == "value"]
            found += [t for n in result.graph.node for a in n.attribute if a.HasField("g") for t in a.g.initializer]
            self.assertEqual([t.data_type for t in found], [TensorProto.FLOAT16] * 3)
            self.assertEqual(sorted(t.raw_data for t in found), sorted(w.astype(np.float16).tobytes() for w in weights))
            onnx.checker.check_model(str(self.out), full_check=True)

    # ---- where models lie

    def test_a_linked_model(self):
        """Its data is looked for beside the name that was given, as onnx and onnxruntime do, and the output goes by it."""
        store, shelf = self.folder / "store", self.folder / "shelf"
        store.mkdir()
        shelf.mkdir()
        expected = self.two_outside(store)
        (shelf / "named.onnx").symlink_to(store / "model.onnx")
        self.refused(shelf / "named.onnx", "symbolic link", store / "model.onnx", code="AMPC1010")
        shutil.copy(store / "weights.bin", shelf)
        os.truncate(store / "weights.bin", 0)
        done = subprocess.run([self.compiler.program, DEFAULT_RULES, shelf / "named.onnx"], capture_output=True, text=True,
                              cwd=self.out_folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(initializers(self.out_folder / "named.fp16.onnx"), expected)

    def test_a_linked_folder(self):
        (self.folder / "real").mkdir()
        expected = self.two_outside(self.folder / "real")
        (self.folder / "link").symlink_to("real")
        self.compile(self.folder / "link" / "model.onnx")
        self.assertEqual(initializers(self.out), expected)

    def test_data_through_a_link(self):
        """Within the folder it is data like any; out of it, it is refused."""
        expected = self.two_outside(self.folder)
        (self.folder / "weights.bin").rename(self.folder / "blob")
        (self.folder / "weights.bin").symlink_to("blob")
        self.compile(self.folder / "model.onnx")
        self.assertEqual(initializers(self.out), expected)
        elsewhere = Path(self.enterContext(tempfile.TemporaryDirectory()))
        shutil.move(self.folder / "blob", elsewhere / "blob")
        (self.folder / "weights.bin").unlink()
        (self.folder / "weights.bin").symlink_to(elsewhere / "blob")
        self.out.unlink()
        self.refused(self.folder / "model.onnx", "weights.bin", code="AMPC1011")

    def test_a_model_and_data_that_are_links(self):
        """Sandboxes and caches link to both: good where the data lies with the model that is linked to, and nowhere else."""
        store, shelf, elsewhere = (self.folder / name for name in ("store", "shelf", "elsewhere"))
        for folder in (store, shelf, elsewhere):
            folder.mkdir()
        expected = self.two_outside(store)
        (shelf / "named.onnx").symlink_to(store / "model.onnx")
        (shelf / "weights.bin").symlink_to(store / "weights.bin")
        self.compile(shelf / "named.onnx")
        self.assertEqual(initializers(self.out), expected)
        self.out.unlink()
        (store / "weights.bin").rename(elsewhere / "weights.bin")
        (shelf / "weights.bin").unlink()
        (shelf / "weights.bin").symlink_to(elsewhere / "weights.bin")
        self.refused(shelf / "named.onnx", "weights.bin", code="AMPC1011")

    def test_a_pipe_is_no_model(self):
        os.mkfifo(self.folder / "pipe.onnx")
        self.refused(self.folder / "pipe.onnx", "no regular file", code="AMPC1001")

    @unittest.skipUnless(SHM.is_dir() and os.access(SHM, os.W_OK), "there is no second file system to write to")
    def test_another_file_system(self):
        there = Path(self.enterContext(tempfile.TemporaryDirectory(dir=SHM)))
        if there.stat().st_dev == self.folder.stat().st_dev:
            self.skipTest("both folders lie on one file system")
        expected = self.two_outside(there)
        for more in ([], ["--external-data"]):
            self.compile(there / "model.onnx", *more)
            self.assertEqual(initializers(self.out), expected)
            self.compile(there / "model.onnx", "--level", "O0", *more)
            self.assertEqual(initializers(self.out), initializers(there / "model.onnx"))
        onnx.save(inside([weight(0)]), there / "whole.onnx")
        self.compile(there / "whole.onnx", "--level", "O0")
        self.assertEqual(self.out.read_bytes(), (there / "whole.onnx").read_bytes())

    # ---- where outputs go

    def test_never_over_an_input(self):
        self.two_outside(self.folder)
        model, weights = self.folder / "model.onnx", self.folder / "weights.bin"
        before = [model.read_bytes(), weights.read_bytes()]
        spellings = []
        for i, source in enumerate((model, weights)):
            os.link(source, self.out_folder / f"hard{i}")
            (self.out_folder / f"soft{i}").symlink_to(source)
            (self.folder / "linked").symlink_to(self.folder) if i == 0 else None
            spellings += [source, self.out_folder / f"hard{i}", self.out_folder / f"soft{i}",
                          self.folder / "linked" / source.name]
        for out in spellings:
            with self.subTest(out=out.name):
                self.refused(model, out, code="AMPC2002", out=out)
                self.refused(model, out, code="AMPC2002", more=["--depfile", out])
        (self.out_folder / "result.onnx.data").symlink_to(weights)
        self.refused(model, "result.onnx.data", code="AMPC2002", more=["--external-data"])
        self.assertEqual([model.read_bytes(), weights.read_bytes()], before)

    def test_the_depfile_is_no_output(self):
        onnx.save(inside([weight(0)]), self.folder / "model.onnx")
        for more in ([self.out], [self.out_folder / ".." / "out" / "result.onnx.data", "--external-data"]):
            self.refused(self.folder / "model.onnx", code="AMPC2002", more=["--depfile", *more])
        self.assertEqual(list(self.out_folder.iterdir()), [])

    def test_an_output_that_is_a_link(self):
        """One file is written through it; a model and its data would come apart, or not be readable."""
        onnx.save(inside([weight(0)]), self.folder / "model.onnx")
        real = self.folder / "real.onnx"
        self.out.symlink_to(real)
        self.compile(self.folder / "model.onnx")
        self.assertTrue(self.out.is_symlink())
        self.assertEqual(initializers(real), {"w0": weight(0).astype(np.float16).tobytes()})
        before = real.read_bytes()
        self.refused(self.folder / "model.onnx", self.out, "symbolic link", code="AMPC2001", more=["--external-data"])
        self.assertEqual(real.read_bytes(), before)
        self.out.unlink()
        (self.out_folder / "result.onnx.data").symlink_to(real)
        self.refused(self.folder / "model.onnx", "result.onnx.data", "symbolic link", code="AMPC2001",
                     more=["--external-data"])
        self.assertEqual(real.read_bytes(), before)

    # ---- what build tools are told

    def many_files(self):
        """A model with two data files, and the names of what is read."""
        for i in range(2):
            (self.folder / f"data{i}.bin").write_bytes(weight(i).tobytes())
        onnx.save(chain([outside(f"w{i}", f"data{i}.bin") for i in range(2)]), self.folder / "model.onnx")
        (self.folder / "team.amp").write_text(f'amp 1\nimport "{DEFAULT_RULES}"\n')
        return ["model.onnx", "data0.bin", "data1.bin", "team.amp"]

    def depfile(self, *more):
        done = subprocess.run([self.compiler.program, "team.amp", "model.onnx", "-o", "out.onnx", "--depfile", "out.d",
                               *more], capture_output=True, text=True, cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        targets, prerequisites = (self.folder / "out.d").read_text().replace("\\\n", " ").split(":", 1)
        return targets.split(), prerequisites.split()

    def test_depfile(self):
        read = self.many_files()
        targets, prerequisites = self.depfile()
        self.assertEqual(targets, ["out.onnx"])
        self.assertLessEqual(set(read), set(prerequisites))
        targets, prerequisites = self.depfile("--external-data")
        self.assertEqual(targets, ["out.onnx", "out.onnx.data"])
        self.assertLessEqual(set(read), set(prerequisites))
        self.assertEqual(self.depfile("--external-data", "--threshold", "1000000")[0], ["out.onnx"])

    def run_tool(self, command, folder=None):
        done = subprocess.run(command, capture_output=True, text=True, cwd=folder or self.folder)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def command(self):
        return f"{self.compiler.program} team.amp model.onnx -o out.onnx --external-data --depfile out.d -q"

    def reruns(self, build, up_to_date):
        """Built once, and then again whenever a file that was read is newer, or an output is gone."""
        build()
        self.assertTrue(up_to_date(), "not up to date after a build")
        for name in self.many_files():
            os.utime(self.folder / name, times=None)
            self.assertFalse(up_to_date(), f"{name} is not seen")
            build()
            self.assertTrue(up_to_date(), name)
        for name in ("out.onnx", "out.onnx.data"):
            (self.folder / name).unlink()
            self.assertFalse(up_to_date(), f"{name} is not missed")
            build()
            self.assertTrue((self.folder / name).exists())

    def test_make(self):
        if shutil.which("make") is None:
            self.skipTest("make is not installed")
        self.many_files()
        (self.folder / "Makefile").write_text("all: out.onnx out.onnx.data\n"
                                              f"out.onnx out.onnx.data &: model.onnx\n\t{self.command()}\n-include out.d\n")
        self.reruns(lambda: self.run_tool(["make"]),
                    lambda: subprocess.run(["make", "-q"], cwd=self.folder, capture_output=True).returncode == 0)

    def test_ninja(self):
        if shutil.which("ninja") is None:
            self.skipTest("ninja is not installed")
        self.many_files()
        (self.folder / "build.ninja").write_text(f"rule ampc\n  command = {self.command()}\n  depfile = out.d\n"
                                                 "build out.onnx out.onnx.data: ampc model.onnx\n")
        self.reruns(lambda: self.run_tool(["ninja"]), lambda: "no work to do" in self.run_tool(["ninja", "-n"]))

    def test_cmake(self):
        if shutil.which("cmake") is None:
            self.skipTest("cmake is not installed")
        self.many_files()
        (self.folder / "CMakeLists.txt").write_text(f"""cmake_minimum_required(VERSION 3.20)
project(model NONE)
add_custom_command(OUTPUT out.onnx out.onnx.data
  COMMAND {self.compiler.program} ${{CMAKE_CURRENT_SOURCE_DIR}}/team.amp ${{CMAKE_CURRENT_SOURCE_DIR}}/model.onnx
    -o out.onnx --external-data --depfile out.d -q
  DEPENDS model.onnx DEPFILE out.d VERBATIM)
add_custom_target(all_models ALL DEPENDS out.onnx out.onnx.data)
""")
        for generator, tool in (("Unix Makefiles", "make"), ("Ninja", "ninja")):
            if shutil.which(tool) is None:
                continue
            with self.subTest(generator):
                build = self.folder / tool
                self.run_tool(["cmake", "-S", ".", "-B", build, "-G", generator])
                self.run_tool(["cmake", "--build", build])
                for name in ("data0.bin", "data1.bin", "team.amp"):
                    before = (build / "out.onnx.data").stat().st_mtime_ns
                    self.run_tool(["cmake", "--build", build])
                    self.assertEqual((build / "out.onnx.data").stat().st_mtime_ns, before, "built though nothing changed")
                    os.utime(self.folder / name, times=None)
                    self.run_tool(["cmake", "--build", build])
                    self.assertNotEqual((build / "out.onnx.data").stat().st_mtime_ns, before, f"{name} is not seen")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ampc", required=True, type=Path)
    args, more = parser.parse_known_args()
    Places.compiler = Compiler(args.ampc)
    unittest.main(argv=[sys.argv[0], *more])


if __name__ == "__main__":
    main()
