// Starts `ampc lsp` and joins it to the editor.
"use strict";

const { workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

function serverArguments(settings) {
  const folders = settings.get("importFolders", []).flatMap((folder) => ["-I", folder]);
  const targets = settings.get("targets", []).flatMap((name) => ["--target", name]);
  return ["lsp", ...folders, ...targets];
}

async function activate() {
  const settings = workspace.getConfiguration("ampc");
  const server = { command: settings.get("path", "ampc"), args: serverArguments(settings) };
  client = new LanguageClient("ampc", "ampc", server, {
    documentSelector: [{ language: "amp" }],
    // What another program writes may be what an open file imports.
    synchronize: { fileEvents: workspace.createFileSystemWatcher("**/*.amp") },
  });
  await client.start();
}

function deactivate() {
  return client === undefined ? undefined : client.stop();
}

module.exports = { activate, deactivate, serverArguments };
