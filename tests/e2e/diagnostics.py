#!/usr/bin/env python3
"""Diagnostics as text, as JSON lines and as SARIF; colour and width; -W and --max-errors; ampc explain CODE.

    diagnostics.py --ampc PATH [--schema sarif-schema-2.1.0.json] [TEST…]

SARIF logs are checked by what the standard (OASIS, "Static Analysis Results Interchange Format", 2.1.0) says of the
properties that ampc writes; with --schema, or AMPC_SARIF_SCHEMA, by the standard's own schema too, where fastjsonschema
is installed.
"""

import argparse
import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
import unittest
from pathlib import Path

from compiler import CASES, DEFAULT_RULES, REPOSITORY

ARGS = None
VALIDATE = None  # by the standard's schema, where there is one
FAIL = REPOSITORY / "tests" / "golden" / "fail"
MODEL = CASES / "baseline_mlp.onnx"
UNUSED = f'amp 1\nimport "{DEFAULT_RULES}"\nnode "/nowhere/*" keep fp32\n'
# [§3.x] of the standard: the properties of each object that ampc writes, those in front are required.
SARIF = {
    "log": (["version", "runs"], ["$schema"]), "run": (["tool"], ["results", "columnKind"]), "tool": (["driver"], []),
    "driver": (["name"], ["version", "rules"]),
    "rule": (["id"], ["name", "shortDescription", "fullDescription", "help"]),
    "result": (["message"], ["ruleId", "ruleIndex", "level", "locations", "relatedLocations", "fixes"]),
    "fix": (["artifactChanges"], ["description"]), "change": (["artifactLocation", "replacements"], []),
    "replacement": (["deletedRegion"], ["insertedContent"]),
    "location": ([], ["id", "physicalLocation", "logicalLocations", "message"]),
    "physical": (["artifactLocation"], ["region"]), "artifact": ([], ["uri"]),
    "region": ([], ["startLine", "startColumn", "endLine", "endColumn"]), "logical": ([], ["fullyQualifiedName"]),
    "text": (["text"], [])}
URI = re.compile(r"(?:[A-Za-z0-9._~/-]|%[0-9A-F]{2})+")


def ampc(*args, cwd=None, **environment):
    env = {k: v for k, v in os.environ.items() if k != "NO_COLOR"} | environment
    return subprocess.run([ARGS.ampc, *map(str, args)], capture_output=True, text=True, timeout=120, cwd=cwd, env=env)


def on_terminal(*args, columns, **environment):
    """What the program shows where stderr is a terminal of this width."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    env = {k: v for k, v in os.environ.items() if k != "NO_COLOR"} | {"TERM": "xterm"} | environment
    process = subprocess.Popen([ARGS.ampc, *map(str, args)], stdout=subprocess.DEVNULL, stderr=slave, env=env)
    os.close(slave)
    shown = b""
    while True:
        try:
            chunk = os.read(master, 65536)
        except OSError:  # what a closed terminal reads as
            break
        if not chunk:
            break
        shown += chunk
    process.wait(60)
    os.close(master)
    return shown.decode()


class Forms(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.rules = self.folder / "rules with ö.amp"

    def check(self, kind, thing):
        required, optional = SARIF[kind]
        self.assertLessEqual(set(required), set(thing), kind)
        self.assertLessEqual(set(thing), set(required) | set(optional), kind)

    def check_location(self, location):
        self.check("location", location)
        if "physicalLocation" in location:
            physical = location["physicalLocation"]
            self.check("physical", physical)
            self.check("artifact", physical["artifactLocation"])
            self.assertRegex(physical["artifactLocation"]["uri"], URI)
            region = physical["region"]
            self.check("region", region)
            self.assertGreaterEqual(min(region.values()), 1)
            self.assertLessEqual((region["startLine"], region["startColumn"]), (region["endLine"], region["endColumn"]))
        for logical in location.get("logicalLocations", []):
            self.check("logical", logical)

    def check_sarif(self, text):
        log = json.loads(text)
        self.check("log", log)
        self.assertEqual(log["version"], "2.1.0")
        (run,) = log["runs"]
        self.check("run", run)
        self.check("driver", run["tool"]["driver"])
        self.assertEqual(run["columnKind"], "unicodeCodePoints")
        rules = run["tool"]["driver"]["rules"]
        self.assertEqual(len({r["id"] for r in rules}), len(rules))
        for rule in rules:
            self.check("rule", rule)
            for key in set(rule) - {"id", "name"}:
                self.check("text", rule[key])
        for result in run["results"]:
            self.check("result", result)
            self.check("text", result["message"])
            self.assertIn(result["level"], ("none", "note", "warning", "error"))
            self.assertEqual(rules[result["ruleIndex"]]["id"], result["ruleId"])
            for location in [*result.get("locations", []), *result.get("relatedLocations", [])]:
                self.check_location(location)
            for fix in result.get("fixes", []):
                self.check("fix", fix)
                self.assertTrue(fix["artifactChanges"])
                for change in fix["artifactChanges"]:
                    self.check("change", change)
                    self.check("artifact", change["artifactLocation"])
                    for replacement in change["replacements"]:
                        self.check("replacement", replacement)
                        self.check("region", replacement["deletedRegion"])
        if VALIDATE is not None:
            VALIDATE(log)
        return run["results"]

    def test_every_wrong_rule_file_in_every_form(self):
        """The same diagnostics, at the same places, whatever the form."""
        wrong = sorted(FAIL.glob("*.amp"))
        self.assertGreater(len(wrong), 100)
        for path in wrong:
            with self.subTest(path.name):
                text, lines, sarif = (ampc(path.name, "--emit", "rules", "--diagnostics", form, cwd=FAIL)
                                      for form in ("text", "json", "sarif"))
                self.assertEqual({text.returncode, lines.returncode, sarif.returncode}, {1})
                told = re.findall(r"^(?:(.+?): )?(error|warning|note)\[(AMPC\d+)\]: (.*)$", text.stderr, re.MULTILINE)
                objects = [json.loads(line) for line in lines.stderr.splitlines()]
                where = [f"{o['file']}:{o['line']}:{o['column']}" if "file" in o else o.get("place", "") for o in objects]
                self.assertEqual([(w, o["severity"], o["code"], o["message"]) for w, o in zip(where, objects)], told)
                self.assertTrue(all(o["name"] for o in objects))
                results = self.check_sarif(sarif.stderr)
                self.assertEqual([(r["level"], r["ruleId"]) for r in results], [t[1:3] for t in told])
                for r, o in zip(results, objects):
                    self.assertEqual(len(r.get("relatedLocations", [])), len(o.get("related", [])))
                    if "file" in o:
                        region = r["locations"][0]["physicalLocation"]["region"]
                        self.assertEqual((region["startLine"], region["endColumn"]), (o["line"], o["end_column"]))

    def test_nothing_else_is_on_stderr(self):
        out = self.folder / "out.onnx"
        done = ampc(DEFAULT_RULES, MODEL, "-o", out, "--diagnostics", "json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        done = ampc(DEFAULT_RULES, MODEL, "-o", out, "--diagnostics", "sarif")
        self.assertEqual((done.returncode, self.check_sarif(done.stderr)), (0, []))

    def test_a_model_and_a_file_with_an_odd_name(self):
        self.rules.write_text(UNUSED)
        done = ampc(self.rules, MODEL, "--emit", "decisions", "--diagnostics", "sarif")
        (result,) = self.check_sarif(done.stderr)
        uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        self.assertTrue(uri.endswith("rules%20with%20%C3%B6.amp"), uri)
        done = ampc(DEFAULT_RULES, self.folder / "none.onnx", "--diagnostics", "sarif")
        (result,) = self.check_sarif(done.stderr)
        self.assertIn("none.onnx", result["locations"][0]["logicalLocations"][0]["fullyQualifiedName"])

    def test_warnings(self):
        self.rules.write_text(UNUSED)
        out = self.folder / "out.onnx"
        done = ampc(self.rules, MODEL, "-o", out)
        self.assertEqual((done.returncode, done.stderr.count("warning[AMPC1025]")), (0, 1))
        out.unlink()
        done = ampc(self.rules, MODEL, "-o", out, "-Werror")
        self.assertEqual((done.returncode, done.stderr.count("error[AMPC1025]")), (1, 1))
        self.assertFalse(out.exists())
        done = ampc(self.rules, MODEL, "-o", out, "-Werror", "-Wno-unused-rule")
        self.assertEqual((done.returncode, "AMPC1025" in done.stderr), (0, False))
        self.assertIn("0 warnings", done.stderr)

    def test_a_warning_of_the_rules_alone(self):
        self.rules.write_text("amp 1\nallow NonMaxSuppression\n")
        self.assertIn("warning[AMPC0202]", ampc(self.rules, "--emit", "rules").stderr)
        done = ampc(self.rules, "--emit", "rules", "-Werror")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertEqual(ampc(self.rules, "--emit", "rules", "-Wno-never-low").stderr, "")

    def test_names_of_warnings_are_checked(self):
        for word, said in (("no-unused-rul", "did you mean 'unused-rule'?"), ("unused-rule", "-Wno-unused-rule"),
                           ("no-contradiction", "always an error"), ("nonsense-of-mine", "names are")):
            done = ampc(DEFAULT_RULES, MODEL, "-W" + word)
            self.assertEqual(done.returncode, 2, word)
            self.assertIn(said, done.stderr)

    def test_max_errors(self):
        self.rules.write_text("amp 1\n" + "".join(f"allow Matmull{i}\n" for i in range(9)))
        self.assertEqual(ampc(self.rules, "--emit", "rules").stderr.count("error["), 9)
        done = ampc(self.rules, "--emit", "rules", "--max-errors", "2")
        self.assertEqual((done.returncode, done.stderr.count("error[")), (1, 2))
        self.assertTrue(done.stderr.endswith("7 more errors are not shown; --max-errors 0 shows all\n"))
        lines = ampc(self.rules, "--emit", "rules", "--max-errors", "2", "--diagnostics", "json").stderr
        self.assertEqual(len(lines.splitlines()), 2)

    def test_colour(self):
        self.rules.write_text("amp 1\nallow Matmull\n")
        call = [self.rules, "--emit", "rules"]
        self.assertNotIn("\033", ampc(*call).stderr)
        self.assertIn("\033[1;31merror", ampc(*call, "--color", "always", NO_COLOR="1").stderr)
        self.assertIn("\033[1;31merror", on_terminal(*call, columns=100))
        self.assertIn("\033", on_terminal(*call, columns=100, NO_COLOR=""))
        self.assertNotIn("\033", on_terminal(*call, columns=100, NO_COLOR="1"))
        self.assertNotIn("\033", on_terminal(*call, "--color", "never", columns=100))

    def test_width_of_the_terminal(self):
        self.rules.write_text("amp 1\nallow " + ", ".join(f"A{i:03}" for i in range(100)) + "\n")
        for columns in (50, 90, 200):
            shown = on_terminal(self.rules, "--emit", "rules", "--color", "never", columns=columns)
            excerpts = [line for line in shown.splitlines() if re.match(r"  [0-9 ]+ \|", line)]
            self.assertTrue(excerpts)
            self.assertLessEqual(max(len(line.split(" no operator")[0]) for line in excerpts if "^" not in line), columns)


class Explain(unittest.TestCase):
    def test_by_code_and_by_name(self):
        done = ampc("explain", "AMPC0012")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertTrue(done.stdout.startswith("AMPC0012 unclosed-body: a { without its }\n\n"))
        self.assertIn('Wrong:\n\n    scope "/decoder" {\n', done.stdout)
        for other in ("ampc0012", "unclosed-body"):
            self.assertEqual(ampc("explain", other).stdout, done.stdout)

    def test_list_has_all_of_them(self):
        listed = ampc("explain", "--list").stdout.splitlines()
        self.assertGreater(len(listed), 70)
        self.assertEqual(listed, sorted(listed))
        self.assertIn("AMPC1025 unused-rule            a rule that matches nothing in this model", listed)

    def test_an_unknown_one(self):
        done = ampc("explain", "unused-rul")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("did you mean 'unused-rule'?", done.stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ampc", required=True)
    parser.add_argument("--schema", default=os.environ.get("AMPC_SARIF_SCHEMA"))
    ARGS, rest = parser.parse_known_args()
    ARGS.ampc = str(Path(ARGS.ampc).resolve())
    if ARGS.schema:
        import fastjsonschema
        VALIDATE = fastjsonschema.compile(json.loads(Path(ARGS.schema).read_text()))
    unittest.main(argv=[sys.argv[0], *rest])
