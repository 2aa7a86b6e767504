#!/usr/bin/env python3
"""grammar/amp.tmLanguage.json, read as editors read it, and the extension's files beside it.

    textmate.py --ampc PATH [TEST…]
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

from compiler import REPOSITORY

try:
    from textmate_grammar.parsers.base import LanguageParser
except ImportError as e:
    print(f"skipped: {e}; cmake/requirements.txt has what is needed")
    sys.exit(77)

AMPC = None
GRAMMAR = REPOSITORY / "grammar"
TEXTMATE = json.loads((GRAMMAR / "amp.tmLanguage.json").read_text())
ANTLR = (GRAMMAR / "Amp.g4").read_text()
PARSER = LanguageParser(TEXTMATE)
WORDS = re.compile(r"\(\?:([a-z0-9|]+)\)")

# A text of each kind of token, and the scope that it has to have.
SAMPLES = [
    ("VERB", "deny", "keyword.control.amp"),
    ("STATEMENT", "import", "keyword.declaration.amp"),
    ("SETTING", "dtype", "keyword.other.setting.amp"),
    ("WORD", "where", "keyword.operator.word.amp"),
    ("TYPE", "bf16", "storage.type.amp"),
    ("EQ", "==", "keyword.operator.amp"),
    ("NE", "!=", "keyword.operator.amp"),
    ("LE", "<=", "keyword.operator.amp"),
    ("GE", ">=", "keyword.operator.amp"),
    ("LT", "<", "keyword.operator.amp"),
    ("GT", ">", "keyword.operator.amp"),
    ("ASSIGN", "=", "keyword.operator.amp"),
    ("ARROW", "->", "keyword.operator.amp"),
    ("QUESTION", "?", "keyword.operator.amp"),
    ("STAR", "*", "keyword.operator.amp"),
    ("BAR", "|", "keyword.operator.amp"),
    ("COMMA", ",", "punctuation.separator.amp"),
    ("COLON", ":", "punctuation.separator.amp"),
    ("LPAREN", "(", "punctuation.section.amp"),
    ("RPAREN", ")", "punctuation.section.amp"),
    ("LBRACKET", "[", "punctuation.section.amp"),
    ("LBRACE", "{", "punctuation.section.amp"),
    ("RBRACE", "}", "punctuation.section.amp"),
    ("PERCENT", "1.5%", "constant.numeric.amp"),
    ("NUMBER", "-1.5e-9", "constant.numeric.amp"),
    ("QNAME", "com.microsoft::Gelu", "entity.name.type.operator.amp"),
    ("VARIADIC", "more...", "variable.parameter.variadic.amp"),
    ("ID", "MatMul", "support.class.operator.amp"),
    ("ID", "layer_norm", "variable.other.amp"),
    ("ID", "deny_x", "variable.other.amp"),
    ("ID", "node.deny", "variable.other.amp"),
    ("STRING", r'"a # \" /b/ deny"', "string.quoted.double.amp"),
    ("REGEX", r"/a\/\d+[.]# deny/", "string.regexp.amp"),
    ("COMMENT", '# deny "x"', "comment.line.number-sign.amp"),
    ("DOC_COMMENT", '/// what it says', "comment.line.documentation.amp"),
    ("OPEN_STRING", '"a b', "invalid.illegal.unclosed.amp"),
    ("OPEN_REGEX", "/", "invalid.illegal.amp"),
    ("SLASH_COMMENT", "// a", "invalid.illegal.unclosed.amp"),
    ("STRAY", "$", "invalid.illegal.amp"),
]


def scopes(text):
    """(line, text, innermost scope) of everything but blanks."""
    result = PARSER.parse_string(text)
    return [(at[0], part, names[-1]) for at, part, names in result.flatten() if part.strip()]


def words_of(patterns):
    return [w for p in patterns for w in WORDS.search(p["match"]).group(1).split("|")]


class TextMate(unittest.TestCase):
    def test_every_kind_of_token(self):
        for kind, text, scope in SAMPLES:
            with self.subTest(kind=kind, text=text):
                self.assertEqual(scopes(f"amp 1\n{text}\n")[2:], [(1, text, scope)])
        # All that the lexer has, keywords apart.
        kinds = set(re.findall(r"^([A-Z]+[A-Z_]*) : (?!'[a-z0-9]+' ;)", ANTLR, re.M)) - {"SPACE"}
        self.assertGreater(len(kinds), 20)
        self.assertEqual(kinds - {kind for kind, _, _ in SAMPLES}, set())

    def test_keywords_are_the_language_s(self):
        wanted = re.findall(r"^[A-Z0-9]+ : '([a-z0-9]+)' ;", ANTLR, re.M)
        self.assertGreater(len(wanted), 50)
        got = words_of(TEXTMATE["repository"]["keywords"]["patterns"])
        self.assertEqual(sorted(got), sorted(wanted))
        for pattern in TEXTMATE["repository"]["keywords"]["patterns"]:
            for word in words_of([pattern]):
                self.assertEqual(scopes(f"{word}\n"), [(0, word, pattern["name"])])

    def test_a_file(self):
        text = ('amp 1  # one\ndeny O1, fp16: Exp where rank(x) >= 2 or not x is weight\n'
                'tensor "*rate*", /a\\/b/ keep fp32\npattern p(x) {\n  y = Mul(x, 2)? | Pow(_, -1e3)\n} low\n')
        short = {"keyword.control": "c", "keyword.declaration": "d", "keyword.operator.word": "w", "keyword.operator": "o",
                 "storage.type": "t", "support.class.operator": "O", "variable.other": "v", "constant.numeric": "n",
                 "punctuation.separator": ",", "punctuation.section": "(", "string.quoted.double": "s", "string.regexp": "r",
                 "comment.line.number-sign": "#"}
        kinds = {}
        for line, _, scope in scopes(text):
            kinds[line] = kinds.get(line, "") + short[scope.removesuffix(".amp")]
        self.assertEqual(list(kinds.values()), ["dn#", "cO,t,Owv(v(onwwvwd", "ds,rcv", "dv(v((", "voO(v,n(ooO(v,n(", "(v"])

    def test_rule_files_that_ship(self):
        files = sorted((REPOSITORY / "rules").rglob("*.amp"))
        self.assertGreater(len(files), 15)
        for path in files:
            text = path.read_text()
            parts = scopes(text)
            with self.subTest(path=path.name):
                self.assertEqual([p for p in parts if p[2].startswith("invalid") or p[2] == "source.amp"], [])
                self.assertEqual("".join("".join(part.split()) for _, part, _ in parts), "".join(text.split()))


class Extension(unittest.TestCase):
    def test_its_files(self):
        folder = GRAMMAR / "vscode"
        package = json.loads((folder / "package.json").read_text())
        made = package["contributes"]
        self.assertEqual(made["grammars"][0]["scopeName"], TEXTMATE["scopeName"])
        self.assertEqual(made["languages"][0]["extensions"], [".amp"])
        self.assertIn("../amp.tmLanguage.json", package["scripts"]["vscode:prepublish"])
        json.loads((folder / "language-configuration.json").read_text())
        code = (folder / package["main"]).read_text()
        self.assertIn("vscode-languageclient", package["dependencies"])
        for key in made["configuration"]["properties"]:
            self.assertIn(f'"{key.removeprefix("ampc.")}"', code)
        version = re.search(r"project\(ampc VERSION (\S+)", (REPOSITORY / "CMakeLists.txt").read_text()).group(1)
        self.assertEqual(package["version"], version)

    def events(self, *settings):
        """What happens with these settings, one after the other."""
        node = shutil.which("node")
        if node is None:
            self.skipTest("there is no node to run the extension with")
        done = subprocess.run([node, Path(__file__).with_name("vscode_stand_in.js"), GRAMMAR / "vscode" / "extension.js",
                               *map(json.dumps, settings)], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return [json.loads(line) for line in done.stdout.splitlines()]

    def test_it_starts_the_server_and_stops_it(self):
        started, stopped, over = self.events({"ampc.path": AMPC})
        self.assertEqual(started, {"event": "started", "args": ["lsp"], "selector": [{"language": "amp"}], "watches": "**/*.amp",
                                   "server": "ampc"})
        self.assertEqual(stopped, {"event": "stopped", "code": 0})
        self.assertEqual(over, {"event": "over", "listeners": 0})

    def test_other_settings_start_another_server(self):
        more = {"ampc.path": AMPC, "ampc.importFolders": ["a b", "c"], "ampc.targets": ["ort-cpu"]}
        told = self.events({"ampc.path": AMPC}, more, {"editor.tabSize": 4})
        self.assertEqual([e["event"] for e in told], ["started", "stopped", "started", "stopped", "over"])
        self.assertEqual(told[2]["args"], ["lsp", "-I", "a b", "-I", "c", "--target", "ort-cpu"])

    def test_a_program_that_is_not_there(self):
        told = self.events({"ampc.path": "no-such-ampc"}, {"ampc.path": AMPC})
        self.assertEqual([e["event"] for e in told], ["message", "started", "stopped", "over"])
        self.assertIn("set ampc.path", told[0]["text"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--ampc", required=True)
    args, rest = parser.parse_known_args()
    AMPC = str(Path(args.ampc).resolve())
    unittest.main(argv=[sys.argv[0], *rest])
