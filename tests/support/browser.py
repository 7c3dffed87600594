"""A headless Chromium, driven over a pipe by its DevTools protocol (https://chromedevtools.github.io/devtools-protocol/)."""

import base64
import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time

PATIENCE = 60.0


def program():
    return next(filter(None, map(shutil.which, ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"))), None)


class Browser:
    """One tab. `mistakes` are the errors that the page's console has shown, and exceptions that nobody caught."""

    def __init__(self, width=1280, height=900, dark=False):
        self.folder = tempfile.TemporaryDirectory()
        read, self.to = os.pipe()
        self.of, write = os.pipe()
        # The browser reads commands from descriptor 3 and writes to 4; bash puts them there.
        to_read, to_write = (fcntl.fcntl(end, fcntl.F_DUPFD, 20) for end in (read, write))
        command = [program(), "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                   "--remote-debugging-pipe", f"--user-data-dir={self.folder.name}"]
        self.process = subprocess.Popen(["bash", "-c", f'exec 3<&{to_read} 4>&{to_write} {to_read}<&- {to_write}>&-; exec "$@"', "bash", *command],
                                        pass_fds=(to_read, to_write), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                        start_new_session=True)
        for end in (read, write, to_read, to_write):
            os.close(end)
        self._calls, self._buffer, self.session, self.loaded, self.mistakes = 0, b"", None, 0, []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setScrollbarsHidden", hidden=True)
        self.look(width, height, dark)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self.to), os.close(self.of)
        self.folder.cleanup()

    def _message(self, deadline):
        while b"\0" not in self._buffer:
            if not select.select([self.of], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise TimeoutError("the browser does not answer")
            data = os.read(self.of, 1 << 20)
            if not data:
                raise ConnectionError(f"the browser has ended: {self.process.wait()}")
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\0")
        message = json.loads(line)
        kind, about = message.get("method"), message.get("params", {})
        if kind == "Page.loadEventFired":
            self.loaded += 1
        elif kind == "Runtime.exceptionThrown":
            self.mistakes.append(about["exceptionDetails"].get("exception", {}).get("description", about["exceptionDetails"]["text"]))
        elif kind == "Log.entryAdded" and about["entry"]["level"] == "error":
            self.mistakes.append(f"{about['entry']['text']} {about['entry'].get('url', '')}")
        elif kind == "Runtime.consoleAPICalled" and about["type"] in ("error", "assert"):
            self.mistakes.append(str([one.get("value", one.get("description")) for one in about["args"]]))
        return message

    def call(self, method, **parameters):
        self._calls += 1
        message = {"id": self._calls, "method": method, "params": parameters, **({"sessionId": self.session} if self.session else {})}
        os.write(self.to, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + PATIENCE
        while True:
            answer = self._message(deadline)
            if answer.get("id") == self._calls:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def look(self, width, height=900, dark=False):
        """The size of the window, and the colour scheme that the system prefers."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def _until_loaded(self, before):
        deadline = time.monotonic() + PATIENCE
        while self.loaded == before:
            self._message(deadline)

    def open(self, url):
        before = self.loaded
        failed = self.call("Page.navigate", url=url if "://" in url else f"file://{os.path.abspath(url)}").get("errorText")
        if failed:
            raise RuntimeError(f"{url}: {failed}")
        self._until_loaded(before)

    def value(self, expression):
        """The value of an expression of JavaScript (or of its promise)."""
        done = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in done:
            raise RuntimeError(f"{expression}: {done['exceptionDetails'].get('exception', {}).get('description')}")
        return done["result"].get("value")

    def until(self, expression):
        deadline = time.monotonic() + PATIENCE
        while not self.value(expression):
            if time.monotonic() > deadline:
                raise TimeoutError(f"never true: {expression}")
            time.sleep(0.02)

    def box(self, selector, number=0):
        """Left, top, width and height of an element, which is scrolled into view first. The page has seen that scrolling when this returns."""
        return self.value(f"(async () => {{ const e = document.querySelectorAll({json.dumps(selector)})[{number}]; "
                          "e.scrollIntoView({block: 'center', behavior: 'instant'}); "
                          "for (let i = 0; i < 2; ++i) await new Promise(requestAnimationFrame); "
                          "const b = e.getBoundingClientRect(); return [b.left, b.top, b.width, b.height]; })()")

    def mouse(self, kind, x, y, held=False):
        self.call("Input.dispatchMouseEvent", type=f"mouse{kind}", x=x, y=y, button="left" if held or kind != "Moved" else "none",
                  buttons=1 if held or kind == "Pressed" else 0, clickCount=0 if kind == "Moved" else 1)

    def move(self, x, y):
        self.mouse("Moved", x, y)

    def click_at(self, x, y):
        self.move(x, y), self.mouse("Pressed", x, y), self.mouse("Released", x, y)

    def drag(self, x, y, to_x, to_y):
        self.move(x, y), self.mouse("Pressed", x, y), self.mouse("Moved", to_x, to_y, held=True), self.mouse("Released", to_x, to_y)

    def click(self, selector, number=0, goes=False):
        """`goes`: the click opens another page."""
        left, top, width, height = self.box(selector, number)
        before = self.loaded
        self.click_at(left + width / 2, top + height / 2)
        if goes:
            self._until_loaded(before)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def press(self, key, code):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, text="\r" if key == "Enter" else "")

    def screenshot(self, path, whole=False):
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))
