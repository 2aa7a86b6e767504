#!/usr/bin/env python3
"""ampc lsp, driven over its streams by pygls' client, and by bytes that are no message.

    language_server.py --ampc PATH [TEST…]
"""

import asyncio
import json
import re
import subprocess
import unittest
from pathlib import Path

from compiler import REPOSITORY

from lsp_session import ARGS, Session, lsp, main, place
from pygls.exceptions import JsonRpcException

RULES = REPOSITORY / "rules"
WAIT = 60  # seconds; only a server that hangs takes so long


class Diagnostics(Session):
    async def test_as_ampc_check_tells_them(self):
        text = ('amp 1\nimport "default.amp"\n\ndeny Expp, Log\nSoftmax arg 2 keep fp32\nallow Relu\nallow Relu\n'
                'dtype fp61\nalias layer_norm = Relu\n')
        path = self.folder / "team.amp"
        path.write_text(text)
        self.open(text)
        got = await self.diagnostics(lambda p: p.diagnostics)
        done = subprocess.run([ARGS.ampc, "check", "--diagnostics", "json", path], capture_output=True, text=True)
        wanted = [w for w in map(json.loads, done.stderr.splitlines()) if w.get("file") == str(path)]
        self.assertGreaterEqual(len(wanted), 5)
        severities = {"error": 1, "warning": 2, "note": 3}
        self.assertEqual(
            [(d.code, d.severity.value, d.range.start.line + 1, d.range.start.character + 1, d.range.end.line + 1,
              d.range.end.character + 1) for d in got],
            [(d["code"], severities[d["severity"]], d["line"], d["column"], d["end_line"], d["end_column"])
             for d in wanted])
        for d, w in zip(got, wanted):
            self.assertEqual(d.source, "ampc")
            for part in [w["message"], w.get("label", ""), w.get("help", ""), *w.get("notes", [])]:
                self.assertIn(part, d.message)
            related = [(r.location.range.start.line + 1, r.message) for r in d.related_information or []]
            self.assertEqual(related, [(r["line"], r["message"]) for r in w.get("related", [])])
        self.assertTrue(any(d.related_information for d in got))

    async def test_of_files_that_are_not_saved_and_of_imported_ones(self):
        base = self.folder / "base.amp"
        base.write_text("amp 1\ndeny Exp\n")
        uri = self.open('amp 1\nimport "base.amp"\nallow MatMul\n')
        await self.diagnostics(lambda p: not p.diagnostics)
        other = base.as_uri()
        self.open("amp 1\ndeny Expp\n", "base.amp")
        await self.diagnostics(lambda p: [d.code for d in p.diagnostics] == ["AMPC0101"], other)
        self.replace_all("amp 1\ndeny MatMul\n")  # against what the other says
        got = await self.diagnostics(lambda p: [d.code for d in p.diagnostics] == ["AMPC0301"], uri)
        self.assertEqual([r.location.uri for r in got[0].related_information], [other])
        # Closed unsaved: the disk's text counts again.
        self.client.text_document_did_close(lsp.DidCloseTextDocumentParams(lsp.TextDocumentIdentifier(other)))
        await self.diagnostics(lambda p: not p.diagnostics, uri)
        await self.diagnostics(lambda p: not p.diagnostics, other)
        # In an imported file that is not open.
        base.write_text("amp 1\ndeny Logg\n")
        self.client.text_document_did_save(lsp.DidSaveTextDocumentParams(lsp.TextDocumentIdentifier(uri)))
        await self.diagnostics(lambda p: [d.code for d in p.diagnostics] == ["AMPC0101"], other)

    async def test_changes_of_ranges(self):
        text = "amp 1\r\n# ü𝄞 deny\r\ndeny Exp\r\n"
        self.open(text)
        await self.diagnostics(lambda p: not p.diagnostics)
        r = lambda a, b: lsp.Range(lsp.Position(*a), lsp.Position(*b))
        self.change(lsp.TextDocumentContentChangePartial(r((1, 6), (1, 6)), "x"),  # behind a pair of surrogates
                    lsp.TextDocumentContentChangePartial(r((2, 5), (2, 99)), "Expp"),
                    lsp.TextDocumentContentChangePartial(r((0, 0), (0, 0)), "# first\n"))
        got = await self.diagnostics(lambda p: p.diagnostics)
        self.assertEqual([(d.code, d.range) for d in got], [("AMPC0101", r((3, 5), (3, 9)))])
        self.change(lsp.TextDocumentContentChangePartial(r((3, 0), (99, 0)), ""))
        await self.diagnostics(lambda p: not any(d.code == "AMPC0101" for d in p.diagnostics))
        self.replace_all("amp 1\n")
        await self.diagnostics(lambda p: not p.diagnostics)

    async def test_files_that_are_none(self):
        for text in ["", "\n", "{\"a\": 1}", "amp 9\n", "amp 1\n" + "scope \"a\" { " * 500, "\"", "amp 1\nscope \"x\" {\n"]:
            self.open(text, "odd.amp")
            self.assertTrue(await self.diagnostics(lambda p: p.diagnostics), text)
            await self.complete(text[:40] + "|")
            await self.hover(self.text[:1] or "", 0)
            await self.client.text_document_document_symbol_async(
                lsp.DocumentSymbolParams(lsp.TextDocumentIdentifier(self.uri)))
            self.client.text_document_did_close(lsp.DidCloseTextDocumentParams(lsp.TextDocumentIdentifier(self.uri)))
            await self.diagnostics(lambda p: not p.diagnostics)


class Positions(Session):
    encodings = [lsp.PositionEncodingKind.Utf32, lsp.PositionEncodingKind.Utf8]

    async def test_as_the_client_wants_them(self):
        self.assertEqual(self.started.capabilities.position_encoding, "utf-32")
        self.open('amp 1\nnode "ü𝄞" keep fp61\n')
        got = await self.diagnostics(lambda p: p.diagnostics)
        self.assertEqual(got[0].range.start, lsp.Position(1, 15))


class Utf8(Positions):
    encodings = [lsp.PositionEncodingKind.Utf8, lsp.PositionEncodingKind.Utf16]

    async def test_as_the_client_wants_them(self):
        self.assertEqual(self.started.capabilities.position_encoding, "utf-8")
        self.open('amp 1\nnode "ü𝄞" keep fp61\n')
        got = await self.diagnostics(lambda p: p.diagnostics)
        self.assertEqual(got[0].range.start, lsp.Position(1, 19))


class Features(Session):
    async def test_hover(self):
        self.assertEqual(self.started.capabilities.position_encoding, "utf-16")
        self.open('amp 1\nimport "default.amp"\n# Ours\n# alone\nextern com.acme::Foo(x: T) -> (y: T) where T in fp32, fp16\n'
                  "LayerNormalization arg Scale keep fp32\nlayer_norm arg weight keep fp32\ndeny com.acme::Foo\ngray cut\n"
                  "rewrite moved on\n")
        text = await self.hover("LayerNormalization")
        for part in ["`X`: T", "`Scale`: T", "since version 17", "fp16, bf16, fp32", "`axis: int = -1`",
                     "layer normalization", "operators.amp"]:
            self.assertIn(part, text)
        self.assertIn("operand 2 of LayerNormalization", await self.hover("Scale"))
        self.assertIn("operand 2 of LayerNormalization", await self.hover("weight"))
        text = await self.hover("layer_norm")
        self.assertIn("alias layer_norm(input", text)
        self.assertIn("**LayerNormalization** of ai.onnx", text)
        text = await self.hover("deny com.acme::Foo", 8)
        self.assertIn("extern com.acme::Foo(x: T)", text)
        self.assertIn("Ours\nalone", text)
        self.assertIn("fewest bytes", await self.hover("cut"))
        self.assertIn("what only moves elements", await self.hover("moved"))
        self.assertEqual(await self.hover("1"), "")

    async def test_every_keyword_has_a_meaning(self):
        words = re.findall(r"^[A-Z0-9]+ : '([a-z0-9]+)' ;", (REPOSITORY / "grammar" / "Amp.g4").read_text(), re.M)
        self.assertGreater(len(words), 50)
        self.open("".join(word + "\n" for word in words))
        for line, word in enumerate(words):
            done = await self.client.text_document_hover_async(
                lsp.HoverParams(lsp.TextDocumentIdentifier(self.uri), lsp.Position(line, 0)))
            self.assertIsNotNone(done, word)

    async def test_completion(self):
        head = 'amp 1\nimport "default.amp"\nextern com.acme::Foo<k: int>(one: T, two: T) -> (y: T) where T in fp32, fp16\n'
        self.open(head)
        for text, wanted, unwanted in [
            ("|", ["deny", "dtype", "scope", "LayerNormalization", "layer_norm", "com.acme::Foo"], ["fp16", "default"]),
            ("de|", ["deny", "level"], ["O1"]),
            ("dtype |", ["fp16", "bf16"], ["deny", "MatMul"]),
            ("level |", ["O0", "O1", "O2", "OD"], ["fp16"]),
            ("level Mine {\n  |", ["default", "weights", "off", "deny"], []),
            ("level Mine {\n  weights |", ["keep", "use", "low"], ["O1"]),
            ("overflow |", ["keep", "clamp", "inf", "error"], ["deny"]),
            ("rewrite |", ["creators", "moved", "redundant"], ["on"]),
            ("rewrite moved |", ["on", "off"], ["creators"]),
            ("on conflict |", ["node", "store", "error"], ["deny"]),
            ("deny |", ["O1", "fp16", "MatMul", "layer_norm"], ["deny"]),
            ("deny O1: Exp, |", ["MatMul", "com.acme::Foo"], ["O1", "keep"]),
            ("deny MatMul |", ["where"], ["O1"]),
            ("deny com.acme::Foo where |", ["one", "two", "k", "rank", "not"], ["MatMul", "y"]),
            ("deny com.acme::Foo where rank(|", ["one", "two"], ["k", "rank"]),
            ("deny Gather where data is |", ["weight", "constant", "given", "not"], ["data"]),
            ("LayerNormalization arg |", ["X", "Scale", "B"], ["Y", "deny"]),
            ("LayerNormalization arg Scale, |", ["X", "Scale", "B"], ["Y"]),
            ("LayerNormalization arg Sc|", ["Scale"], ["keep"]),
            ("LayerNormalization result |", ["Y", "Mean"], ["X"]),
            ("layer_norm arg |", ["input", "weight", "bias"], ["deny"]),
            ("com.acme::Foo arg |", ["one", "two"], ["y"]),
            ("com.acme::|", ["com.acme::Foo"], []),
            ("MatMul |", ["arg", "result"], ["deny"]),
            ("MatMul arg 1 |", ["keep", "store", "exact"], ["A"]),
            ("MatMul arg 1 keep |", ["fp32"], ["fp16"]),
            ("MatMul arg 1 exact from |", ["integers"], ["A"]),
            ('tensor "a" |', ["keep", "store", "scale"], ["low"]),
            ('node "a" |', ["keep", "low"], ["store"]),
            ("weight where |", ["absmax", "underflow", "overflow", "size"], ["rank"]),
            ("override |", ["allow", "deny", "pattern", "extern"], ["dtype"]),
            ("override pattern |", ["gelu_tanh", "layer_norm"], ["MatMul"]),
            ("override pattern gelu_tanh |", ["off"], ["MatMul"]),
            ("pattern p(x) {\n  s = |", ["Mul", "Pow"], ["deny", "keep"]),
            ("pattern p(x) {\n  s = Mul(x, x)\n  t = Add(|", ["x", "s", "Mul"], ["t", "p"]),
            ("pattern p(x) {\n  s = Mul(x, x)\n} |", ["keep", "low", "follow"], ["Mul"]),
            ("optimizer com.acme::Foo(|", ["one", "two"], ["y"]),
            ("optimizer com.acme::Foo(one: |", ["parameter", "gradient", "state"], ["one"]),
            ("alias mine(a) = |", ["MatMul"], ["deny"]),
            ("alias mine(a) = MatMul(|", ["A", "B"], ["Y"]),
            ("alias mine(a) = MatMul(A: |", ["a"], ["A"]),
            ("extern com.acme::Bar(x: |", ["fp32", "int64", "float", "any"], ["MatMul"]),
            ("extern com.acme::Bar(x: T) -> (y: T) where T in fp32, |", ["fp16", "bf16"], ["MatMul"]),
            ('scope "a/**" {\n  deny |', ["MatMul"], ["scope"]),
            ("# deny |", [], ["MatMul", "deny"]),
            ("deny Exp # x |", [], ["MatMul", "where"]),
            ('node "de|', [], ["deny"]),
        ]:
            with self.subTest(text=text):
                got = await self.complete(head + text)
                self.assertEqual([w for w in wanted if w not in got], [])
                self.assertEqual([w for w in unwanted if w in got], [])
                self.assertEqual(len(got), len(set(got)))

    async def test_completion_of_paths(self):
        (self.folder / "company").mkdir()
        (self.folder / "company" / "base.amp").write_text("amp 1\n")
        self.open("amp 1\n")
        got = await self.complete('amp 1\nimport "|"\n')
        self.assertLessEqual({"company/", "default.amp", "onnx/"}, set(got))
        self.assertEqual(await self.complete('amp 1\nimport "company/|"\n'), ["base.amp"])
        self.assertIn("operators.amp", await self.complete('amp 1\nimport "onnx/op|'))

    async def test_values_that_are_offered_are_taken(self):
        self.open("amp 1\n")
        for key in ["dtype", "promote", "follow", "gray", "io", "overflow", "underflow", "shared", "functions", "master",
                    "on conflict", "rewrite creators", "rewrite moved", "rewrite redundant"]:
            values = await self.complete(f"amp 1\n{key} |")
            if key == "follow":
                values = [v for v in values if v in ("any", "last")]
            self.assertGreaterEqual(len(values), 2, key)
            for value in values:
                self.replace_all(f"amp 1\n{key} {value}\n")
                version = self.version
                self.assertEqual(list(await self.diagnostics(lambda p: p.version == version)), [], f"{key} {value}")

    async def test_definition(self):
        base = self.folder / "b ase.amp"
        base.write_text("amp 1\n\nlevel Mine {\n  default low\n}\nalias mine(a) = MatMul(A: a)\n"
                        "extern com.acme::Foo(x: T) -> (y: T) where T in fp32, fp16\n"
                        "pattern mult(x) {\n  y = Mul(x, x)\n} keep fp32\n")
        uri = self.open('amp 1\nimport "b ase.amp"\nimport "onnx/facts.amp"\nlevel Mine\nmine arg a keep fp32\n'
                        "deny com.acme::Foo\noverride pattern mult off\npattern own(v) {\n  s = Pow(v, 2)\n  t = Sqrt(s)\n}"
                        " keep fp32\ndeny MatMul where A is weight\n")
        there = base.as_uri()
        self.assertEqual(await self.define('"b ase'), [(there, 0)])
        self.assertEqual([Path(u).name for u, _ in await self.define('"onnx/f')], ["facts.amp"])
        self.assertEqual(await self.define("Mine"), [(there, 2)])
        self.assertEqual(await self.define("mine"), [(there, 5)])
        self.assertEqual(await self.define("com.acme::Foo"), [(there, 6)])
        self.assertEqual(await self.define("mult"), [(there, 7)])
        self.assertEqual(await self.define("Pow(v", 4), [(uri, 7)])
        self.assertEqual(await self.define("Sqrt(s", 5), [(uri, 8)])
        self.assertEqual(await self.define("MatMul"), [])

    async def test_symbols(self):
        self.open('amp 1\nimport "default.amp"\nalias a = Exp\nscope "x/**" {\n  deny Exp\n  level O2\n}\n'
                  "pattern p(x) {\n  y = Mul(x, x)\n} low\n")
        done = await self.client.text_document_document_symbol_async(
            lsp.DocumentSymbolParams(lsp.TextDocumentIdentifier(self.uri)))
        self.assertEqual([s.name for s in done], ["amp 1", "default.amp", "a", 'scope "x/**"', "p"])
        self.assertEqual([s.name for s in done[3].children], ["deny Exp", "level O2"])
        self.assertEqual(done[4].range, lsp.Range(lsp.Position(7, 0), lsp.Position(9, 5)))

    async def test_layout(self):
        async def edits():
            return await self.client.text_document_formatting_async(lsp.DocumentFormattingParams(
                lsp.TextDocumentIdentifier(self.uri), lsp.FormattingOptions(2, True)))

        text = "amp 1\n\n# ü\ndeny   Exp,Log\nallow MatMul\n\n\n\nallow Gemm"
        self.open(text)
        done = await edits()
        lines = text.split("\n")
        self.assertEqual(done[0].range.start, lsp.Position(3, 0))
        rest = "\n".join(lines[:3]) + "\n"
        after = rest + done[0].new_text + "\n".join(lines[done[0].range.end.line:])[done[0].range.end.character:]
        neat = subprocess.run([ARGS.ampc, "fmt", "-"], input=text, capture_output=True, text=True).stdout
        self.assertEqual(after, neat)
        self.replace_all(neat)
        self.assertEqual(list(await edits()), [])
        self.replace_all("amp 1\ndeny deny deny\n")
        self.assertIsNone(await edits())

    async def test_what_it_does_not_know(self):
        with self.assertRaises(JsonRpcException) as e:
            await self.client.protocol.send_request_async("textDocument/nothing", {})
        self.assertEqual(e.exception.code, -32601)
        self.open("amp 1\n")
        self.client.protocol.notify("$/nothing", {})
        self.client.protocol.notify("textDocument/nothing", {})
        self.assertIn("deny", await self.complete("amp 1\n|"))


class Bytes(unittest.TestCase):
    """What no client library sends."""

    def run_server(self, *parts, code=1):
        raw = b"".join(p if isinstance(p, bytes) else self.frame(p) for p in parts)
        done = subprocess.run([ARGS.ampc, "lsp"], input=raw, capture_output=True, timeout=WAIT)
        self.assertEqual((done.returncode, done.stderr), (code, b""))
        answers, rest = [], done.stdout
        while rest:
            head, _, rest = rest.partition(b"\r\n\r\n")
            length = int(head.split(b":")[1])
            answers.append(json.loads(rest[:length]))
            rest = rest[length:]
        return answers

    @staticmethod
    def frame(body):
        text = body if isinstance(body, str) else json.dumps({"jsonrpc": "2.0", **body})
        return b"Content-Length: %d\r\n\r\n%s" % (len(text.encode()), text.encode())

    START = {"id": 1, "method": "initialize", "params": {}}
    STOP = {"id": 9, "method": "shutdown"}
    EXIT = {"method": "exit"}

    def codes(self, answers):
        return [a["error"]["code"] for a in answers if "error" in a]

    def test_a_session(self):
        answers = self.run_server(self.START, self.STOP, {"id": 10, "method": "initialize"}, self.EXIT, code=0)
        self.assertEqual([a["id"] for a in answers], [1, 9, 10])
        self.assertEqual(self.codes(answers), [-32600])

    def test_the_order_of_requests(self):
        answers = self.run_server({"id": 5, "method": "textDocument/hover", "params": {}}, self.START, self.START, self.EXIT)
        self.assertEqual(self.codes(answers), [-32002, -32600])

    def test_what_is_no_message(self):
        for junk in [self.frame("{"), self.frame("\xff"), b"Content-Length: x\r\n\r\n", b"Content-Type: y\r\n\r\n",
                     self.frame("[" * 100000)]:
            with self.subTest(junk=junk[:40]):
                answers = self.run_server(self.START, junk, self.STOP, self.EXIT, code=0)
                self.assertEqual(self.codes(answers), [-32700])
        for junk in ["3", "[]", '"x"', "{}", '{"id": {}, "method": "x"}', '{"id": 1, "method": 2}', '{"id": null, "method": "x"}']:
            with self.subTest(junk=junk):
                answers = self.run_server(self.START, self.frame(junk), self.STOP, self.EXIT, code=0)
                self.assertEqual(self.codes(answers), [-32600])
        answers = self.run_server(self.START, b"rubbish\n\nmore\r\n", self.STOP, self.EXIT, code=0)
        self.assertEqual([a["id"] for a in answers], [1, 9])

    def test_an_end_without_farewell(self):
        self.run_server(self.START)
        self.run_server(self.START, b"Content-Length: 100\r\n\r\n{")
        self.run_server()

    def test_a_request_that_is_cancelled(self):
        uri = "untitled:one"
        opened = {"method": "textDocument/didOpen",
                  "params": {"textDocument": {"uri": uri, "text": 'amp 1\nimport "default.amp"\n'}}}
        ask = {"method": "textDocument/completion",
               "params": {"textDocument": {"uri": uri}, "position": {"line": 2, "character": 0}}}
        many = [{"id": 100 + i, **ask} for i in range(30)]
        cancel = [{"method": "$/cancelRequest", "params": {"id": m["id"]}} for m in many]
        answers = self.run_server(self.START, opened, *many, *cancel, self.STOP, self.EXIT, code=0)
        by_id = {a["id"]: a for a in answers if "id" in a}
        self.assertEqual(set(by_id), {1, 9, *(m["id"] for m in many)})  # each is answered once
        for m in many:
            if "error" in by_id[m["id"]]:
                self.assertEqual(by_id[m["id"]]["error"]["code"], -32800)
        self.assertEqual(by_id[many[-1]["id"]]["error"]["code"], -32800)

    def test_a_position_beyond_the_text(self):
        uri = (RULES / "default.amp").as_uri()
        opened = {"method": "textDocument/didOpen", "params": {"textDocument": {"uri": uri, "text": "amp 1\ndeny Ex"}}}
        asks = [{"id": 20 + i, "method": "textDocument/" + m,
                 "params": {"textDocument": {"uri": uri}, "position": {"line": line, "character": character}}}
                for i, (m, line, character) in enumerate([("hover", 99, 0), ("completion", 1, 999), ("definition", 2**40, 2**40)])]
        wrong = {"id": 30, "method": "textDocument/hover",
                 "params": {"textDocument": {"uri": uri}, "position": {"line": -1, "character": "x"}}}
        answers = self.run_server(self.START, opened, *asks, wrong, self.STOP, self.EXIT, code=0)
        self.assertEqual(self.codes(answers), [-32602])


if __name__ == "__main__":
    main(__doc__)
