#!/usr/bin/env python3
"""docs/language.md: made of docs/language.in.md, the grammar and the table of settings, and each of its examples is run.

    language.py --write          write it anew
    language.py --ampc PATH      it is what --write writes; right examples are right, wrong ones give their code
"""

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
SOURCE = ROOT / "docs" / "language.in.md"
PAGE = ROOT / "docs" / "language.md"
GRAMMAR = ROOT / "grammar" / "Amp.g4"
SETTINGS = ROOT / "src" / "ampc" / "lang" / "settings.cc"
# Tokens that are no fixed words, as the page shows them.
TOKENS = ["ID", "QNAME", "VARIADIC", "NUMBER", "PERCENT", "STRING", "REGEX", "COMMENT", "DOC_COMMENT"]
RULE = re.compile(r"((?:^//[^\n]*\n)*)^([A-Za-z_]+)(\s*:\s.*?);$", re.MULTILINE | re.DOTALL)


class Grammar:
    def __init__(self, text):
        text = text[text.index("grammar Amp;") + len("grammar Amp;"):]
        self.rules, self.words = {}, {}
        for comment, name, body in RULE.findall(text):
            word = re.fullmatch(r"\s*:\s*('[^']*')\s*", body)
            if word:
                self.words[name] = word[1]
            else:
                said = " ".join(line.removeprefix("//").strip() for line in comment.splitlines())
                self.rules[name] = (said, body)
        self.shown = set()

    def rule(self, name):
        """What is said of a rule, and the rule with its words in place of their tokens' names."""
        said, body = self.rules[name]
        self.shown.add(name)
        # Quoted texts are left alone.
        parts = re.split(r"('(?:[^'\\]|\\.)*'|\[(?:[^\]\\]|\\.)*\])", body.rstrip())
        parts[::2] = [re.sub(r"\b[A-Z_]+\b", lambda m: self.words.get(m[0], m[0]), part) for part in parts[::2]]
        return said, f"{name}{''.join(parts)}"

    def block(self, names):
        text = ""
        for name in names:
            said, rule = self.rule(name)
            text += (f"{said}\n\n" if said else "") + f"```\n{rule}\n```\n\n"
        return re.sub(r"```\n\n```\n", "\n", text).rstrip("\n")

    def missing(self):
        return [name for name in self.rules if name not in self.shown and (name[0].islower() or name in TOKENS)]


def settings():
    text = SETTINGS.read_text()
    table = text[text.index("kSettings[] = {"):text.index("\n};", text.index("kSettings[] = {"))]
    quoted = r'"((?:[^"\\]|\\.)*)"'
    entries = re.findall(rf"\{{{quoted},\s*{quoted},\s*{quoted},\s*(true|false),\s*((?:\"(?:[^\"\\]|\\.)*\"\s*)+)\}}", table)
    assert len(entries) == len(re.findall(r"^    \{", table, re.MULTILINE)), "an entry of the table cannot be read"
    rows = ["| setting | values | without it | in scopes | |", "|---|---|---|---|---|"]
    for key, values, preset, local, said in entries:
        said = "".join(re.findall(quoted, said)).replace('\\"', '"')
        words = ", ".join(f"`{v}`" for v in values.split()) or "the name of a level"
        rows.append(f"| `{key}` | {words} | {preset} | {'yes' if local == 'true' else ''} | {said} |")
    return "\n".join(rows)


def made():
    grammar = Grammar(GRAMMAR.read_text())
    text = SOURCE.read_text()
    text = re.sub(r"<!-- grammar: ([\w ]+) -->", lambda m: grammar.block(m[1].split()), text)
    text = text.replace("<!-- tokens -->", grammar.block(TOKENS))
    text = text.replace("<!-- settings -->", settings())
    if grammar.missing():
        sys.exit(f"{SOURCE.name} does not show these rules of the grammar: {', '.join(grammar.missing())}")
    return f"<!-- Made of {SOURCE.name} by tests/e2e/language.py --write. -->\n" + text


def examples(text):
    return re.findall(r"^```amp ?(\w*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def run(ampc):
    failed = 0
    shown = examples(PAGE.read_text())
    for code, text in shown:
        whole = text if code.startswith("AMPC002") or re.search(r"^amp 1\b", text, re.MULTILINE) else f"amp 1\n{text}"
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "example.amp"
            path.write_text(whole)
            done = subprocess.run([ampc, "check", path], capture_output=True, text=True, timeout=60)
        codes = re.findall(r"(?:error|warning)\[(AMPC\d+)\]", done.stderr)
        right = set(codes) == {code} if code else done.returncode == 0 and not done.stderr
        if not right:
            failed += 1
            print(f"FAILED: {code or 'right'}, exit {done.returncode}\n{whole}{done.stderr}")
    print(f"{len(shown)} examples, {sum(bool(code) for code, _ in shown)} of them wrong on purpose")
    return failed != 0 or len(shown) < 20


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ampc", type=Path)
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    if args.write:
        PAGE.write_text(made())
    if not PAGE.exists() or PAGE.read_text() != made():
        print(f"FAILED: {PAGE.name} is not what its sources say: tests/e2e/language.py --write")
        return 1
    return int(run(args.ampc)) if args.ampc else 0


if __name__ == "__main__":
    sys.exit(main())
