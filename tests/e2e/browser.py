"""A headless Chromium, driven over its DevTools protocol.

Chromium is Debian's package, which is installed where that needs no password; websocket-client, axe-core and PyYAML come from PyPI into
a folder of the cache. Unavailable says what could not be had.
"""

import importlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

PACKAGES = ["websocket-client==1.9.0", "axe-core-python==0.1.0", "pyyaml==6.0.3"]
WAIT = 60  # seconds


class Unavailable(Exception):
    pass


def find_chromium():
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None and shutil.which("apt-get"):
        root = [] if os.geteuid() == 0 else ["sudo", "-n"]
        if not root or shutil.which("sudo"):
            install = [*root, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "-y", "--no-install-recommends", "chromium"]
            if subprocess.run(install, capture_output=True, timeout=600).returncode:
                subprocess.run([*root, "apt-get", "update"], capture_output=True, timeout=300)
                subprocess.run(install, capture_output=True, timeout=600)
        found = shutil.which("chromium")
    if found is None:
        raise Unavailable("there is no Chromium, and Debian's package 'chromium' could not be installed")
    return found


def add_packages(cache):
    """Makes the packages importable."""
    folder = Path(cache) / ("browser-" + "-".join(p.replace("==", "-") for p in PACKAGES))
    if not (folder / "complete").exists():
        done = subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps", "--target", folder,
                               *PACKAGES], capture_output=True, text=True, timeout=300)
        if done.returncode:
            raise Unavailable(f"pip could not install {' '.join(PACKAGES)}: {done.stderr.strip().splitlines()[-1:]}")
        (folder / "complete").touch()
    sys.path.insert(0, str(folder))
    return folder / "axe_core_python" / "axe.min.js"


class Browser:
    """One page. What it logs as an error, and what it throws, is kept in `errors`; what it asks the network for in `requests`."""

    def __init__(self, cache):
        program = find_chromium()
        self.axe = add_packages(cache).read_text()
        websocket = importlib.import_module("websocket")
        self.folder = tempfile.mkdtemp(prefix="ampc-browser-")
        self.process = subprocess.Popen(
            [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--remote-debugging-port=0",
             "--remote-allow-origins=*", f"--user-data-dir={self.folder}", "about:blank"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            port = self._port()
            with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(f"http://127.0.0.1:{port}/json/list", timeout=WAIT) as answer:
                page = next(t for t in json.load(answer) if t["type"] == "page")
            self.socket = websocket.create_connection(page["webSocketDebuggerUrl"], timeout=WAIT, http_no_proxy=["127.0.0.1"])
        except Exception:
            self.close()
            raise
        self.last, self.errors, self.requests, self.events = 0, [], [], []
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")

    def _port(self):
        file = Path(self.folder) / "DevToolsActivePort"
        end = time.monotonic() + WAIT
        while time.monotonic() < end:
            if self.process.poll() is not None:
                raise Unavailable(f"Chromium ends with {self.process.returncode} as soon as it starts")
            if file.exists() and (lines := file.read_text().splitlines()):
                return int(lines[0])
            time.sleep(0.05)
        raise Unavailable("Chromium does not open its DevTools port")

    def _receive(self):
        message = json.loads(self.socket.recv())
        method, params = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.errors.append(params["exceptionDetails"]["text"] + " " + params["exceptionDetails"].get("exception", {}).get("description", ""))
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.errors.append(str(params["args"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.errors.append(params["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method:
            self.events.append(method)
        return message

    def call(self, method, **params):
        self.last += 1
        self.socket.send(json.dumps({"id": self.last, "method": method, "params": params}))
        while (message := self._receive()).get("id") != self.last:
            pass
        if "error" in message:
            raise RuntimeError(f"{method}: {message['error']}")
        return message["result"]

    def open(self, path, width=1280, height=900, scheme="light"):
        """Seconds until the page is loaded, its script run and two frames drawn."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.errors.clear(), self.requests.clear(), self.events.clear()
        begin = time.perf_counter()
        self.call("Page.navigate", url=Path(path).resolve().as_uri())
        while "Page.loadEventFired" not in self.events:
            self._receive()
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))")
        return time.perf_counter() - begin

    def run(self, script):
        result = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(str(result["exceptionDetails"]))
        return result["result"].get("value")

    def press(self, key):
        text = {"Enter": "\r"}.get(key)
        code = {"Tab": 9, "Enter": 13, "Backspace": 8, "ArrowDown": 40, "ArrowUp": 38, "ArrowLeft": 37, "ArrowRight": 39}[key]
        self.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", key=key, code=key, windowsVirtualKeyCode=code,
                  **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, code=key, windowsVirtualKeyCode=code)

    def violations(self):
        """What axe-core finds, as rule, element and explanation."""
        self.run(self.axe + "; 0")
        found = self.run("axe.run().then(r => r.violations.map(v => [v.id, v.help, v.nodes.slice(0, 3).map(n => n.html.slice(0, 200))]))")
        return [str(v) for v in found]

    def picture(self):
        import base64
        return base64.b64decode(self.call("Page.captureScreenshot", format="png", captureBeyondViewport=False)["data"])

    def close(self):
        self.process.terminate()
        self.process.wait(timeout=WAIT)
        shutil.rmtree(self.folder, ignore_errors=True)
