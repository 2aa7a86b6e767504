"""Runs the compiler under test."""

import dataclasses
import os
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
DEFAULT_RULES = REPOSITORY / "rules" / "default.amp"
CASES = REPOSITORY / "tests" / "cases"
MODELS_LIST = REPOSITORY / "tests" / "models" / "models.json"


@dataclasses.dataclass(frozen=True, order=True)
class Mode:
    dtype: str = "fp16"
    level: str = "O1"
    io: str = "keep"
    gray: str = "local"
    functions: str = "keep"
    opset: int = 0  # 0: the model's own

    def arguments(self):
        return ["--dtype", self.dtype, "--level", self.level, "--io", self.io, "--gray", self.gray,
                "--functions", self.functions, *(["--opset", str(self.opset)] if self.opset else [])]

    def __str__(self):
        return " ".join([self.dtype, self.level, self.io, *(["cut"] if self.gray == "cut" else []),
                         *(["inline"] if self.functions == "inline" else []), *([f"@{self.opset}"] if self.opset else [])])

    @classmethod
    def parse(cls, text):
        """The mode that __str__ has written."""
        words = text.split()
        more = {"cut": ("gray", "cut"), "inline": ("functions", "inline")}
        return cls(*words[:3], **dict(("opset", int(word[1:])) if word[0] == "@" else more[word] for word in words[3:]))


LEVELS = ("O1", "O2", "OD")
DTYPES = ("fp16", "bf16")
IOS = ("keep", "low")
ALL_MODES = [Mode(d, l, i) for d in DTYPES for l in LEVELS for i in IOS] \
    + [Mode(d, **more) for d in DTYPES for more in ({"gray": "cut"}, {"functions": "inline"}, {"opset": 22})]

# What onnx's version converter does not convert: these cases are refused at another opset.
UNCONVERTED = {"local_function", "constant_sparse_value"}


class Compiler:
    def __init__(self, program, rules=DEFAULT_RULES):
        self.program = str(Path(program).resolve())
        self.rules = str(rules)

    def run(self, model, out=None, mode=None, more=(), rules=None, timeout=600, cwd=None):
        """The finished process; texts in stdout and stderr. A crash shows as a negative return code."""
        command = [self.program, str(rules or self.rules), str(model)]
        if out is not None:
            command += ["-o", str(out)]
        if mode is not None:
            command += mode.arguments()
        command += [str(m) for m in more]
        return subprocess.run(command, capture_output=True, text=True, timeout=timeout, cwd=cwd,
                              env={**os.environ, "NO_COLOR": "1"})

    def check_rules(self, rules, more=()):
        """Compiles a rule file alone."""
        command = [self.program, str(rules), "--emit", "rules", *map(str, more)]
        return subprocess.run(command, capture_output=True, text=True, timeout=120)

    def require_rules(self):
        """Ends the test where the rules themselves do not compile: every model would fail for that one reason."""
        done = self.check_rules(self.rules)
        if done.returncode != 0:
            sys.exit(f"{self.rules} does not compile\n{done.stderr}")
        return self


def said(process, limit=400):
    """What a failed run said, on one line."""
    text = " | ".join(line for line in (process.stderr + process.stdout).splitlines() if line.strip())
    return f"exit {process.returncode}: {text[:limit]}"


def add_arguments(parser):
    parser.add_argument("--ampc", required=True, type=Path, help="the program under test")
    parser.add_argument("--rules", type=Path, default=DEFAULT_RULES)
