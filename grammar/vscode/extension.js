// Starts `ampc lsp` and joins it to the editor.
"use strict";

const { window, workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;
let turn = Promise.resolve(); // one start or stop after the other, however fast settings change

function serverArguments(settings) {
  const folders = settings.get("importFolders", []).flatMap((folder) => ["-I", folder]);
  const targets = settings.get("targets", []).flatMap((name) => ["--target", name]);
  return ["lsp", ...folders, ...targets];
}

async function start() {
  const settings = workspace.getConfiguration("ampc");
  const server = { command: settings.get("path", "ampc"), args: serverArguments(settings) };
  client = new LanguageClient("ampc", "ampc", server, {
    documentSelector: [{ language: "amp" }],
    // What another program writes may be what an open file imports.
    synchronize: { fileEvents: workspace.createFileSystemWatcher("**/*.amp") },
  });
  try {
    await client.start();
  } catch (error) {
    client = undefined;
    window.showErrorMessage(`'${server.command} lsp' does not start (${error.message}): set ampc.path to where ampc lies.`);
  }
}

async function stop() {
  const running = client;
  client = undefined;
  if (running !== undefined) await running.stop();
}

function next(...steps) {
  for (const step of steps) turn = turn.then(step, step);
  return turn;
}

function activate(context) {
  context.subscriptions.push(
    workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration("ampc")) next(stop, start);
    }),
  );
  return next(start);
}

function deactivate() {
  return next(stop);
}

module.exports = { activate, deactivate, serverArguments };
