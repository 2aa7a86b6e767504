// The extension for Visual Studio Code in a stand-in of the editor: `node vscode_stand_in.js EXTENSION SETTINGS…` loads it,
// activates it, changes some settings to each of the further ones in turn and deactivates it. SETTINGS are JSON of ampc's keys.
// Its client starts the server that the extension names and asks it for `initialize`. Prints a JSON object an event.
"use strict";

const Module = require("module");
const { spawn } = require("child_process");
const [extension, ...rounds] = process.argv.slice(2);
let settings = JSON.parse(rounds.shift());
const listeners = [];
const say = (event, more) => console.log(JSON.stringify({ event, ...more }));

const vscode = {
  workspace: {
    getConfiguration: (section) => ({ get: (key, otherwise) => settings[`${section}.${key}`] ?? otherwise }),
    createFileSystemWatcher: (glob) => ({ glob }),
    onDidChangeConfiguration: (listener) => {
      listeners.push(listener);
      return { dispose: () => listeners.splice(listeners.indexOf(listener), 1) };
    },
  },
  window: { showErrorMessage: (text) => say("message", { text }) },
};

class LanguageClient {
  constructor(id, name, server, options) {
    this.server = server;
    this.options = options;
  }

  start() {
    const { command, args } = this.server;
    this.process = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
    return new Promise((resolve, reject) => {
      this.process.on("error", reject);
      this.process.stdout.once("data", (data) => {
        const text = data.toString();
        const answer = JSON.parse(text.slice(text.indexOf("\r\n\r\n")));
        say("started", { args, selector: this.options.documentSelector, watches: this.options.synchronize.fileEvents.glob,
                         server: answer.result.serverInfo.name });
        resolve();
      });
      this.send({ id: 1, method: "initialize", params: { capabilities: {} } });
    });
  }

  send(body) {
    const text = JSON.stringify({ jsonrpc: "2.0", ...body });
    this.process.stdin.write(`Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`, () => {});
  }

  stop() {
    return new Promise((resolve) => {
      this.process.on("exit", (code) => {
        say("stopped", { code });
        resolve();
      });
      this.send({ id: 2, method: "shutdown" });
      this.send({ method: "exit" });
    });
  }
}

const load = Module._load;
Module._load = (name, ...more) =>
  name === "vscode" ? vscode : name === "vscode-languageclient/node" ? { LanguageClient } : load(name, ...more);

(async () => {
  const { activate, deactivate } = require(extension);
  const context = { subscriptions: [] };
  await activate(context);
  for (const round of rounds) {
    const changed = Object.keys(JSON.parse(round));
    settings = { ...settings, ...JSON.parse(round) };
    for (const listener of [...listeners]) listener({ affectsConfiguration: (section) => changed.some((key) => key.startsWith(section)) });
  }
  await deactivate();
  for (const one of context.subscriptions) one.dispose();
  say("over", { listeners: listeners.length });
})();
