#!/usr/bin/env python3
"""The package for CMake: the example project, models in libraries, what is installed, and what wrong arguments are told.

    cmake_package.py --build DIR [--cache DIR] [TEST…]

DIR is a build folder of ampc's own.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from build_tool import install, oldest_cmake, run
from compiler import CASES, REPOSITORY

ARGS = None
PREFIX = None
CMAKES = {}
EXAMPLE = REPOSITORY / "examples" / "cmake-project"
GENERATORS = ("Ninja", "Unix Makefiles", "Ninja Multi-Config")


class Project(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory())).resolve()
        self.build = self.folder / "build"

    def write(self, text, languages="NONE"):
        """A project of `text` with a model, rules, a file of expectations and a folder."""
        (self.folder / "CMakeLists.txt").write_text(
            f"cmake_minimum_required(VERSION 3.20)\nproject(p LANGUAGES {languages})\nfind_package(ampc CONFIG REQUIRED)\n{text}\n")
        shutil.copy(EXAMPLE / "digits.onnx", self.folder / "mlp.onnx")
        (self.folder / "team.amp").write_text('amp 1\nimport "default.amp"\n')
        (self.folder / "team.expect").write_text("model mlp.onnx\nMatMul low\n")
        (self.folder / "parts").mkdir(exist_ok=True)

    def configure(self, cmake=None, generator="Ninja", fails=False, source=None):
        done = run(cmake or CMAKES["installed"], "-G", generator, "-S", source or self.folder, "-B", self.build,
                   f"-DCMAKE_PREFIX_PATH={PREFIX}")
        self.assertEqual(done.returncode != 0, fails, done.stdout)
        return " ".join(done.stdout.split())

    def make(self, *more, cmake=None):
        done = run(cmake or CMAKES["installed"], "--build", self.build, *more)
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout

    def runs(self, *more, cmake=None):
        (PREFIX / "runs").write_text("")
        self.make(*more, cmake=cmake)
        return len((PREFIX / "runs").read_text())


class Example(Project):
    def test_is_what_a_newcomer_copies(self):
        self.assertLess(len((EXAMPLE / "CMakeLists.txt").read_text().splitlines()), 30)
        for which, cmake in CMAKES.items():
            for generator in GENERATORS:
                with self.subTest(cmake=which, generator=generator):
                    self.setUp()
                    source = self.folder / "source"
                    shutil.copytree(EXAMPLE, source)
                    self.configure(cmake, generator, source=source)
                    self.assertEqual(self.runs("--config", "Release", cmake=cmake), 2)
                    self.assertEqual(self.runs("--config", "Release", cmake=cmake), 0)
                    if "Multi" in generator:
                        self.assertEqual(self.runs("--config", "Debug", cmake=cmake), 0)
                    done = run(cmake.parent / "ctest", "-C", "Release", "--output-on-failure", cwd=self.build)
                    self.assertEqual(done.returncode, 0, done.stdout)
                    self.assertRegex(done.stdout, "100% tests passed.* out of 2")
                    inside = self.folder / "installed"
                    done = run(cmake, "--install", self.build, "--config", "Release", "--prefix", inside)
                    self.assertEqual(done.returncode, 0, done.stdout)
                    sizes = {p.name: p.stat().st_size for p in (inside / "share" / "digits").iterdir()}
                    self.assertEqual(set(sizes), {"digits.fp16.onnx", "digits.bf16.onnx"})
                    self.assertEqual(run(inside / "bin" / "digits").stdout, f"a model of {sizes['digits.fp16.onnx']} bytes\n")

    def test_tests_fail_where_rules_do(self):
        source = self.folder / "source"
        shutil.copytree(EXAMPLE, source)
        (source / "digits.expect").write_text("model digits.onnx\nMatMul fp32\n")
        (source / "rules" / "team.amp").write_text('amp 1\nnode "nowhere" keep fp32\n')
        self.configure(source=source)
        done = run(CMAKES["installed"].parent / "ctest", cwd=self.build)
        self.assertIn("0% tests passed, 2 tests failed out of 2", done.stdout)


class Embedded(Project):
    MAIN = """
#include <stdint.h>
#include <stdio.h>
#include "%(header)s"
int main(void) {
  if ((uintptr_t)%(symbol)s %% 64 != 0) return 1;
  return fwrite(%(symbol)s, 1, %(symbol)s_size, stdout) == %(symbol)s_size ? 0 : 2;
}
"""

    def check(self, text, languages, main, header, symbol, model, generator="Ninja"):
        self.write(text, languages)
        (self.folder / main).write_text(self.MAIN % {"header": header, "symbol": symbol})
        self.configure(generator=generator)
        self.make()
        program = self.build / "app"
        self.assertEqual(subprocess.run([program], stdout=subprocess.PIPE, check=True).stdout, model.read_bytes())
        return program

    def test_in_c_and_made_again(self):
        for generator in GENERATORS[:2]:
            with self.subTest(generator=generator):
                self.setUp()
                model = self.build / "out" / "net.bf16.onnx"
                program = self.check(
                    "amp_compile_model(TARGET net MODEL mlp.onnx RULES team.amp DTYPE bf16 fp16 OUTPUT out/net.{dtype}.onnx)\n"
                    "amp_embed_model(TARGET data MODELS net HEADER nets.h)\nadd_executable(app main.c)\n"
                    "target_link_libraries(app data)",
                    "C", "main.c", "nets.h", "net_bf16_onnx", model, generator)
                before = model.read_bytes()
                (self.folder / "team.amp").write_text('amp 1\nimport "default.amp"\nnode "*" keep fp32\n')
                self.make()
                self.assertNotEqual(model.read_bytes(), before)
                self.assertEqual(subprocess.run([program], stdout=subprocess.PIPE, check=True).stdout, model.read_bytes())

    def test_in_a_shared_library_of_cxx(self):
        odd = self.folder / 'ü (1) "it\'s" #$.onnx'
        shutil.copy(CASES / "gemm_opset22.onnx", odd)
        (self.folder / "api.cc").write_text('#include "data.h"\nextern const unsigned char* const bytes = mlp_onnx;\n')
        self.check(f"amp_embed_model(TARGET data MODELS [==[{odd.name}]==] mlp.onnx)\n"
                   "add_library(api SHARED api.cc)\ntarget_link_libraries(api PUBLIC data)\n"
                   "add_executable(app main.cc)\ntarget_link_libraries(app api)\ninstall(TARGETS data)",
                   "CXX", "main.cc", "data.h", "____1___it_s_____onnx", odd)
        done = run(CMAKES["installed"], "--install", self.build, "--prefix", self.folder / "i")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual({p.name for p in (self.folder / "i").rglob("*.*")}, {"libdata.a", "data.h"})


class Arguments(Project):
    def test_defaults_and_patterns(self):
        self.write("amp_compile_model(TARGET a MODEL mlp.onnx RULES default.amp)\n"
                   "amp_compile_model(TARGET b MODEL mlp.onnx RULES team.amp DTYPE fp16 LEVEL O2 TARGETS ort-cpu IMPORTS parts OUTPUT deep/er/)\n"
                   "amp_compile_model(TARGET c MODEL mlp.onnx RULES team.amp DTYPE bf16 fp16 OUTPUT {dtype}/{model}-x.onnx EXCLUDE_FROM_ALL)\n"
                   "get_target_property(made c AMPC_OUTPUTS)\nmessage(STATUS \"made: ${made}\")\n"
                   "get_target_property(made c AMPC_OUTPUT_fp16)\nmessage(STATUS \"fp16: ${made}\")")
        told = self.configure()
        self.assertIn(f"made: {self.build}/bf16/mlp-x.onnx;{self.build}/fp16/mlp-x.onnx", told)
        self.assertIn(f"fp16: {self.build}/fp16/mlp-x.onnx", told)
        self.assertEqual(self.runs(), 2)
        self.assertTrue((self.build / "a.onnx").exists())
        self.assertTrue((self.build / "deep" / "er" / "mlp.fp16.onnx").exists())
        self.assertFalse((self.build / "fp16").exists())
        self.assertEqual(self.runs("--target", "c"), 2)

    def test_options_reach_the_program(self):
        self.write("amp_compile_model(TARGET a MODEL mlp.onnx RULES team.amp DTYPE fp16 IMPORTS parts LEVEL O2 TARGETS ort-cpu ort-cuda\n"
                   "  OPTIONS --io low -j2 -v)")
        self.configure()
        (self.build / "a.onnx").unlink(missing_ok=True)
        told = self.make("--verbose")
        for part in ("--dtype fp16", "--level O2", f"-I {self.folder}/parts", "--target ort-cpu --target ort-cuda", "--io low -j2 -v"):
            self.assertIn(part, told)
        self.assertNotIn("-j1", told)

    def test_a_model_that_the_build_makes(self):
        for generator in GENERATORS[:2]:
            with self.subTest(generator=generator):
                self.setUp()
                self.write("add_custom_command(OUTPUT made.onnx COMMAND ${CMAKE_COMMAND} -E copy ${CMAKE_SOURCE_DIR}/mlp.onnx made.onnx\n"
                           "  DEPENDS mlp.onnx)\namp_compile_model(TARGET a MODEL made.onnx RULES team.amp DTYPE fp16)")
                self.configure(generator=generator)
                self.assertEqual(self.runs(), 1)
                self.assertTrue((self.build / "made.fp16.onnx").exists())
                (self.folder / "mlp.onnx").write_bytes((CASES / "gemm_opset22.onnx").read_bytes())
                self.assertEqual(self.runs(), 1)
                self.assertEqual(self.runs(), 0)

    def test_weights_in_a_second_file(self):
        self.hold_data_file(large=True)

    def test_no_weight_for_a_second_file(self):
        self.hold_data_file(large=False)

    def hold_data_file(self, large):
        for generator in GENERATORS[:2]:
            with self.subTest(generator=generator):
                self.setUp()
                self.write("amp_compile_model(TARGET a MODEL mlp.onnx RULES team.amp DTYPE fp16 DATA_FILE INSTALL models)")
                if large:
                    weight = numpy_helper.from_array(np.ones((64, 64), np.float32), "w")
                    value = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, 64]) for n in "xy"]
                    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "g", value[:1], value[1:], [weight])
                    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), self.folder / "mlp.onnx")
                self.configure(generator=generator)
                self.assertEqual(self.runs(), 1)
                self.assertEqual(self.runs(), 0)
                self.assertEqual((self.build / "mlp.fp16.onnx.data").stat().st_size, 2 * 64 * 64 if large else 0)
                (self.build / "mlp.fp16.onnx.data").unlink()
                self.assertEqual(self.runs(), 1)
                done = run(CMAKES["installed"], "--install", self.build, "--prefix", self.folder / "i")
                self.assertEqual(done.returncode, 0, done.stdout)
                self.assertEqual({p.name for p in (self.folder / "i" / "models").iterdir()}, {"mlp.fp16.onnx", "mlp.fp16.onnx.data"})

    def test_data_files_can_be_named(self):
        self.write("amp_compile_model(TARGET a MODEL external_data.onnx RULES team.amp DTYPE fp16 EXTERNAL_DATA external_data.data)")
        for name in ("external_data.onnx", "external_data.data"):
            shutil.copy(CASES / name, self.folder)
        self.configure()
        self.assertEqual(self.runs(), 1)

    GOOD = "amp_compile_model(TARGET a MODEL mlp.onnx RULES team.amp"
    WRONG = [
        ("amp_compile_model(MODEL mlp.onnx RULES team.amp)", "needs TARGET"),
        ("amp_compile_model(TARGET a RULES team.amp)", "amp_compile_model(a) needs MODEL"),
        ("amp_compile_model(TARGET a MODEL mlp.onnx)", "needs RULES"),
        ("amp_compile_model(TARGET a MODEL mlp.onnx RULES)", "has RULES without a value"),
        (GOOD + " DTYP fp16)", "does not know what 'DTYP' is for. Its keywords are TARGET,"),
        (GOOD + " DTYPE)", "has DTYPE without a value"),
        (GOOD + " DTYPE fp8)", "DTYPE 'fp8' is none of fp16 and bf16"),
        (GOOD + " DTYPE fp16 fp16)", "DTYPE names fp16 twice"),
        (GOOD + " DTYPE fp16 bf16 OUTPUT a.onnx)", "would be the same file for 2 data types; put {dtype} into it"),
        (GOOD + " OUTPUT a.{dtype}.onnx)", "and there is no DTYPE"),
        (GOOD + " IMPORTS team.amp)", "IMPORTS 'team.amp' is no folder"),
        (GOOD + " EXTERNAL_DATA w.bin)", "EXTERNAL_DATA 'w.bin' does not exist"),
        (GOOD + " COMPONENT x)", "there is no INSTALL"),
        (GOOD + " OPTIONS --io low -o x.onnx)", "OPTIONS has '-o'; say it by the keyword OUTPUT"),
        (GOOD + " OPTIONS --dtype=bf16)", "OPTIONS has '--dtype=bf16'; say it by the keyword DTYPE"),
        (GOOD + " OPTIONS --depfile d)", "OPTIONS has '--depfile', which is not for the caller to give"),
        (GOOD + " OUTPUT ${CMAKE_SOURCE_DIR}/mlp.onnx)", "is an input; give another OUTPUT"),
        (GOOD + " DTYPE fp16)\namp_compile_model(TARGET b MODEL mlp.onnx RULES default.amp DTYPE fp16)", "is made by a already"),
        (GOOD + ")\n" + GOOD + " OUTPUT b.onnx)", "a target of this name is there already"),
        ("amp_compile_model(TARGET a MODEL gone.onnx RULES team.amp)", "MODEL 'gone.onnx' does not exist: there is no"),
        ("amp_compile_model(TARGET a MODEL [==[a;b.onnx]==] RULES team.amp)", "has ';' in it, which CMake takes for two names"),
        (GOOD + " OUTPUT [==[a#b.onnx]==])", "CMake makes no file with '#' in its name"),
        ("amp_compile_model(TARGET a MODEL parts RULES team.amp)", "MODEL 'parts' is a folder"),
        ("amp_compile_model(TARGET a MODEL mlp.onnx RULES gone.amp)", "None of the rules that ship with ampc"),
        (GOOD + ")\namp_embed_model(TARGET d MODELS a)", "enable the language C or CXX"),
        ("amp_embed_model(TARGET d)", "needs MODELS"),
        ("amp_add_check_test(RULES team.amp)", "needs NAME"),
        ("amp_add_check_test(NAME a RULES gone.amp)", "RULES 'gone.amp' does not exist"),
        ("amp_add_check_test(NAME a RULES team.amp default.amp EXPECT team.expect)", "EXPECT is about one rule file, and RULES names 2"),
        ("amp_add_check_test(NAME a RULES team.amp EXPECT gone.expect)", "EXPECT 'gone.expect' does not exist"),
        ("amp_add_check_test(NAME a RULES team.amp OPTIONS --model mlp.onnx)", "say it by the keyword MODELS"),
        ("amp_add_check_test(NAME a RULES team.amp)\namp_add_check_test(NAME a RULES team.amp)", "a test of this name"),
        ("set_property(GLOBAL PROPERTY x)\nadd_custom_target(t)\nenable_language(C)\namp_embed_model(TARGET d MODELS t)",
         "the target t is not one of amp_compile_model"),
        ("enable_language(C)\n" + GOOD + " DTYPE fp16)\namp_embed_model(TARGET d MODELS a DTYPE bf16)", "the target a has no output in bf16"),
        ("enable_language(C)\n" + GOOD + " DATA_FILE)\namp_embed_model(TARGET d MODELS a)", "has its weights in a second file"),
        ("enable_language(C)\n" + GOOD + " DTYPE fp16)\namp_embed_model(TARGET d MODELS a mlp.fp16.onnx)", "two models would have the symbol"),
    ]

    def test_wrong_ones_are_told(self):
        for text, told in self.WRONG:
            with self.subTest(text=text):
                self.write(text)
                said = self.configure(fails=True)
                self.assertIn(told, said)
                self.assertIn("CMake Error at", said)
                shutil.rmtree(self.build)


class Sources(Project):
    PROGRAM = """
#include <stdio.h>
#include <string.h>
int main(int argc, char** argv) {
  FILE* out = 0;
  FILE* dep = 0;
  const char* name = "";
  for (int i = 1; i + 1 < argc; ++i) {
    if (!strcmp(argv[i], "-o")) out = fopen(name = argv[i + 1], "w");
    if (!strcmp(argv[i], "--depfile")) dep = fopen(argv[i + 1], "w");
  }
  fprintf(out, "%s", TEXT);
  fprintf(dep, "%s: %s %s\\n", name, argv[2], argv[1]);
  return fclose(out) || fclose(dep);
}
"""

    def test_the_program_is_built_first(self):
        """As a part of the same build: another program, another output, whatever the generator; here one that is quickly built."""
        modules = "\n".join(f"include({REPOSITORY}/cmake/package/Ampc{m}.cmake)" for m in ("Arguments", "CompileModel"))
        for generator in GENERATORS:
            with self.subTest(generator=generator):
                self.setUp()
                self.write("", "C")
                (self.folder / "CMakeLists.txt").write_text(
                    "cmake_minimum_required(VERSION 3.20)\nproject(p LANGUAGES C)\nadd_executable(cli main.c)\n"
                    f"add_executable(ampc::ampc ALIAS cli)\n{modules}\n"
                    "amp_compile_model(TARGET net MODEL mlp.onnx RULES team.amp DTYPE fp16 bf16)\n")
                (self.folder / "main.c").touch()
                self.configure(generator=generator)
                for text in ("one", "two"):
                    time.sleep(0.015)
                    (self.folder / "main.c").write_text(self.PROGRAM.replace("TEXT", f'"{text}"'))
                    self.make()
                    self.assertEqual((self.build / "mlp.bf16.onnx").read_text(), text)
                self.assertNotIn("Compiling", self.make())
                if "Multi" in generator:
                    self.make("--config", "Release")
                    self.assertNotIn("Compiling", self.make("--config", "Release"))

    def test_are_a_part_of_another_project(self):
        """By add_subdirectory: the same functions, and a program that is built first."""
        if "AMPC_CACHE_DIR" not in os.environ and not (Path.home() / ".cache" / "ampc").exists():
            self.skipTest("onnx's library would have to be built first")
        (self.folder / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.25)\nproject(p LANGUAGES CXX)\n"
            "include(FetchContent)\nset(AMPC_CUDA OFF CACHE STRING \"\")\n"
            f"FetchContent_Declare(ampc SOURCE_DIR {REPOSITORY})\nFetchContent_MakeAvailable(ampc)\n"
            "amp_compile_model(TARGET net MODEL mlp.onnx RULES default.amp DTYPE fp16 bf16)\nenable_testing()\n"
            "amp_add_check_test(NAME rules RULES default.amp)\n")
        shutil.copy(EXAMPLE / "digits.onnx", self.folder / "mlp.onnx")
        done = run(CMAKES["installed"], "-G", "Ninja", "-S", self.folder, "-B", self.build, env=dict(os.environ))
        self.assertEqual(done.returncode, 0, done.stdout)
        plan = run("ninja", "-C", self.build, "-t", "commands", "net").stdout
        self.assertIn("/bin/ampc", plan)
        self.assertIn("--dtype bf16", plan)
        self.assertNotIn("unit_", run("ninja", "-C", self.build, "-t", "targets", "all").stdout)
        if os.environ.get("AMPC_FULL"):
            done = run(CMAKES["installed"], "--build", self.build, env=dict(os.environ), timeout=3600)
            self.assertEqual(done.returncode, 0, done.stdout)
            self.assertTrue((self.build / "mlp.bf16.onnx").exists())
            self.assertIn("no work to do", self.make())
            done = run(CMAKES["installed"].parent / "ctest", cwd=self.build)
            self.assertIn("100% tests passed", done.stdout)


def main():
    global ARGS, PREFIX
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()))
    ARGS, rest = parser.parse_known_args()
    missing = [t for t in ("cmake", "make", "ninja") if not shutil.which(t)]
    if missing:
        print(f"skipped: {', '.join(missing)} not installed")
        return 77
    CMAKES["installed"] = Path(shutil.which("cmake"))
    if oldest := oldest_cmake(ARGS.cache.resolve()):
        CMAKES["oldest"] = oldest
    with tempfile.TemporaryDirectory() as prefix:
        PREFIX = Path(prefix).resolve() / "prefix"
        install(ARGS.build, PREFIX, CMAKES["installed"])
        return not unittest.main(argv=[sys.argv[0], *rest], exit=False).result.wasSuccessful()


if __name__ == "__main__":
    sys.exit(main())
