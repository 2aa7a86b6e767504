#!/usr/bin/env python3
"""What ampc lsp offers to mend, held against what `ampc check --fix` writes; and buffers with a byte order mark.

    language_server_actions.py --ampc PATH [TEST…]
"""

import subprocess

from lsp_session import ARGS, Session, lsp, main, place


class Acting(Session):
    TEXT = ('amp 1\nimport "default.amp"\ndeny Sigmoidd, Log  # ü𝄞\ndeny Gelu\n'
            'allow Relu\nallow Relu\nSoftmax arg inputt keep fp32\n')

    async def actions(self, start, end, only=None, diagnostics=()):
        """Of the range from one part of the text to the end of another."""
        asked = lsp.Range(place(self.text, start), place(self.text, end, len(end)))
        return list(await self.client.text_document_code_action_async(lsp.CodeActionParams(
            lsp.TextDocumentIdentifier(self.uri), asked, lsp.CodeActionContext(list(diagnostics), only=only))))

    def applied(self, actions):
        """The text after these actions, none of which meets another."""
        units = self.text.encode("utf-16-le")
        starts = [0]
        for line in self.text.split("\n")[:-1]:
            starts.append(starts[-1] + len((line + "\n").encode("utf-16-le")) // 2)
        edits = [e for action in actions for e in action.edit.changes[self.uri]]

        def at(position):
            return 2 * (starts[position.line] + position.character)
        for edit in sorted(edits, key=lambda e: at(e.range.start), reverse=True):
            units = units[:at(edit.range.start)] + edit.new_text.encode("utf-16-le") + units[at(edit.range.end):]
        return units.decode("utf-16-le")

    def mended(self, text):
        """What `ampc check --fix` makes of a text."""
        path = self.folder / "mended.amp"
        path.write_text(text, encoding="utf-8", newline="")
        subprocess.run([ARGS.ampc, "check", "--fix", path], capture_output=True, check=False)
        return path.read_bytes().decode()


class Actions(Acting):
    async def test_a_quick_fix_for_each_diagnostic(self):
        self.assertEqual(list(self.started.capabilities.code_action_provider.code_action_kinds), ["quickfix", "source.fixAll.ampc"])
        self.open(self.TEXT)
        told = await self.diagnostics(lambda p: p.diagnostics)
        all_of = await self.actions("amp 1", "keep fp32\n", diagnostics=told)
        self.assertTrue(all(a.kind == "quickfix" and a.is_preferred for a in all_of), all_of)
        titles = [a.title for a in all_of]
        self.assertIn("replace 'Sigmoidd' by 'Sigmoid'", titles)
        self.assertIn("replace 'inputt' by 'input'", titles)
        self.assertGreaterEqual(len(all_of), 4)
        for action in all_of:
            self.assertEqual(len(action.diagnostics), 1, action)
            self.assertIn(action.diagnostics[0], told)
        one = await self.actions("Sigmoidd", "Sigmoidd")
        self.assertEqual([a.title for a in one], ["replace 'Sigmoidd' by 'Sigmoid'"])
        self.assertEqual(self.applied(one), self.text.replace("Sigmoidd", "Sigmoid"))
        self.assertEqual(await self.actions("import", "default"), [])

    async def test_all_at_once_is_what_check_fix_writes(self):
        self.open(self.TEXT)
        for only in (["source"], ["source.fixAll"], ["source.fixAll.ampc"], ["quickfix", "source.fixAll"]):
            (action,) = [a for a in await self.actions("amp 1", "amp 1", only=only) if a.kind != "quickfix"]
            self.assertEqual(action.kind, "source.fixAll.ampc")
            self.assertEqual(self.applied([action]), self.mended(self.text))
        for only in (["refactor"], ["source.organizeImports"], ["source.fixAll.other"], ["quick"]):
            self.assertEqual(await self.actions("amp 1", "keep fp32\n", only=only), [], only)
        self.replace_all(self.mended(self.text))
        self.assertEqual(await self.actions("amp 1", "amp 1", only=["source.fixAll"]), [])

    async def test_of_the_text_as_it_is_now(self):
        """An action is asked for before the change was checked."""
        self.open("amp 1\n")
        self.replace_all("amp 1\n\n\ndeny MatMull\n")
        (action,) = await self.actions("MatMull", "MatMull")
        self.assertEqual(self.applied([action]), "amp 1\n\n\ndeny MatMul\n")

    async def test_lines_of_any_end(self):
        for end in ("\r\n", "\n"):
            self.open(self.TEXT.replace("\n", end), name=f"end{len(end)}.amp")
            (action,) = await self.actions("amp 1", "amp 1", only=["source.fixAll"])
            self.assertEqual(self.applied([action]), self.mended(self.text))

    async def test_of_an_imported_file(self):
        """Its mistakes are mended where they stand, not from the file that imports it."""
        (self.folder / "team.amp").write_text('amp 1\nimport "base.amp"\n')
        self.open('amp 1\nimport "base.amp"\n', name="team.amp")
        team = self.uri
        base = self.open("amp 1\ndeny MatMull\n", name="base.amp")
        (action,) = await self.actions("MatMull", "MatMull")
        self.assertEqual(list(action.edit.changes), [base])
        self.uri, self.text = team, 'amp 1\nimport "base.amp"\n'
        self.assertEqual(await self.actions("amp 1", "base.amp"), [])


class ByteOrderMark(Acting):
    """An editor that keeps the mark counts it as a character of the first line."""
    MARK = "\ufeff"

    async def test_places_of_the_first_line(self):
        self.open(self.MARK + "amp 1 deny MatMull\ndeny Expp\n")
        told = await self.diagnostics(lambda p: p.diagnostics)
        self.assertEqual([d.range.start for d in told], [place(self.text, "MatMull"), place(self.text, "Expp")])
        self.assertEqual(told[0].range.start, lsp.Position(0, 12))
        (action,) = await self.actions("MatMull", "MatMull")
        self.assertEqual(self.applied([action]), self.text.replace("MatMull", "MatMul"))
        self.change(lsp.TextDocumentContentChangePartial(range=lsp.Range(place(self.text, "MatMull"), place(self.text, "MatMull", 7)), text="Softmax"))
        self.text = self.text.replace("MatMull", "Softmax")
        told = await self.diagnostics(lambda p: len(p.diagnostics) == 1)
        self.assertEqual(told[0].range.start, place(self.text, "Expp"))
        self.assertIn("Softmax", await self.hover("Softmax"))
        self.assertEqual(await self.hover("Expp"), "")

    async def test_all_at_once_is_what_check_fix_writes(self):
        self.open(self.MARK + self.TEXT)
        (action,) = await self.actions("amp 1", "amp 1", only=["source.fixAll"])
        self.assertEqual(self.applied([action]), self.mended(self.text))

    async def test_layout_keeps_it(self):
        self.open(self.MARK + "amp  1\ndeny   Exp\n")
        done = await self.client.text_document_formatting_async(lsp.DocumentFormattingParams(
            lsp.TextDocumentIdentifier(self.uri), lsp.FormattingOptions(2, True)))
        changes = type("Edited", (), {"changes": {self.uri: done}})
        self.assertEqual(self.applied([type("Action", (), {"edit": changes})]), self.MARK + "amp 1\ndeny Exp\n")

    async def test_definitions_and_symbols_count_it(self):
        self.open(self.MARK + "amp 1 alias soft = Softmax\nsoft arg input keep fp32\n")
        done = await self.client.text_document_definition_async(lsp.DefinitionParams(
            lsp.TextDocumentIdentifier(self.uri), place(self.text, "soft arg", 1)))
        self.assertEqual([l.range.start for l in done], [place(self.text, "soft =")])
        symbols = await self.client.text_document_document_symbol_async(lsp.DocumentSymbolParams(lsp.TextDocumentIdentifier(self.uri)))
        self.assertIn(place(self.text, "alias"), [s.range.start for s in symbols])


class ByteOrderMarkInUtf8(Session):
    encodings = [lsp.PositionEncodingKind.Utf8]

    async def test_places_of_the_first_line(self):
        self.open("\ufeffamp 1 deny MatMull\n")
        told = await self.diagnostics(lambda p: p.diagnostics)
        self.assertEqual(told[0].range.start, lsp.Position(0, 14))


if __name__ == "__main__":
    main(__doc__)
