#!/usr/bin/env python3
"""The rule files that README.md shows compile as they stand, without a warning.

    readme.py --ampc PATH
"""

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from compiler import REPOSITORY


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ampc", type=Path, required=True)
    args = parser.parse_args()
    shown = re.findall(r"^```\n(amp 1\b.*?)^```$", (REPOSITORY / "README.md").read_text(), re.DOTALL | re.MULTILINE)
    failed = not shown
    for text in shown:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "first.amp"
            path.write_text(text)
            done = subprocess.run([args.ampc, path, "--emit", "rules"], capture_output=True, text=True)
            if done.returncode != 0 or done.stderr or not done.stdout:
                failed = True
                print(f"FAILED: exit {done.returncode}\n{done.stderr}")
    print(f"{len(shown)} rule files in README.md")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
