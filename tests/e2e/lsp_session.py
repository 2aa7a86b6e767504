"""A session with ampc lsp by pygls' client, for tests."""

import argparse
import asyncio
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

try:
    from lsprotocol import types as lsp
    from pygls.lsp.client import LanguageClient
except ImportError as e:
    print(f"skipped: {e}; cmake/requirements.txt has what is needed")
    sys.exit(77)

ARGS = argparse.Namespace(ampc=None)  # set by main()
WAIT = 60  # seconds; only a server that hangs takes so long


def place(text, part, at=0):
    """Line and character, in UTF-16, of the first time that a part of a text stands there."""
    before = text[:text.index(part) + at]
    line = before.rsplit("\n", 1)[-1]
    return lsp.Position(before.count("\n"), len(line.encode("utf-16-le")) // 2)


class Session(unittest.IsolatedAsyncioTestCase):
    encodings = None
    maxDiff = None
    arguments = ()

    async def asyncSetUp(self):
        asyncio.get_running_loop().set_debug(False)
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory())).resolve()
        self.told = {}
        self.news = asyncio.Condition()
        self.client = LanguageClient("test", "1")

        @self.client.feature("textDocument/publishDiagnostics")
        async def _(params):
            async with self.news:
                self.told[params.uri] = params
                self.news.notify_all()

        await self.client.start_io(ARGS.ampc, "lsp", *self.arguments)
        general = lsp.GeneralClientCapabilities(position_encodings=self.encodings)
        self.started = await self.client.initialize_async(
            lsp.InitializeParams(capabilities=lsp.ClientCapabilities(general=general)))
        self.client.initialized(lsp.InitializedParams())

    async def asyncTearDown(self):
        await asyncio.wait_for(self.client.shutdown_async(None), WAIT)
        self.client.exit(None)
        self.assertEqual(await asyncio.wait_for(self.client._server.wait(), WAIT), 0)
        await self.client.stop()

    def open(self, text, name="team.amp"):
        uri = (self.folder / name).as_uri()
        self.client.text_document_did_open(lsp.DidOpenTextDocumentParams(lsp.TextDocumentItem(uri, "amp", 1, text)))
        self.text, self.uri, self.version = text, uri, 1
        return uri

    def change(self, *changes, uri=None):
        self.version += 1
        self.client.text_document_did_change(lsp.DidChangeTextDocumentParams(
            lsp.VersionedTextDocumentIdentifier(self.version, uri or self.uri), list(changes)))

    def replace_all(self, text, uri=None):
        self.text = text
        self.change(lsp.TextDocumentContentChangeWholeDocument(text), uri=uri)

    async def diagnostics(self, holds, uri=None):
        """Those of a file, once they are what is waited for."""
        uri = uri or self.uri
        async with self.news:
            await asyncio.wait_for(self.news.wait_for(lambda: uri in self.told and holds(self.told[uri])), WAIT)
        return self.told[uri].diagnostics

    async def hover(self, part, at=1):
        done = await self.client.text_document_hover_async(lsp.HoverParams(
            lsp.TextDocumentIdentifier(self.uri), place(self.text, part, at)))
        return "" if done is None else done.contents.value

    async def complete(self, text):
        """The labels at the mark | of a text that is put into the open file."""
        at = text.index("|")
        self.replace_all(text[:at] + text[at + 1:])
        done = await self.client.text_document_completion_async(lsp.CompletionParams(
            lsp.TextDocumentIdentifier(self.uri), place(text, "|")))
        return [i.label for i in done.items]

    async def define(self, part, at=1):
        done = await self.client.text_document_definition_async(lsp.DefinitionParams(
            lsp.TextDocumentIdentifier(self.uri), place(self.text, part, at)))
        return [(l.uri, l.range.start.line) for l in done]


def main(description):
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ampc", required=True)
    _, rest = parser.parse_known_args(namespace=ARGS)
    unittest.main(argv=[sys.argv[0], *rest])
