"""A page in headless Chromium, used as a reader uses it: keys, clicks, sizes; and what went wrong on it."""

from __future__ import annotations

import base64
import json
import time
from pathlib import Path
from typing import Any, Final

from compat_tests.chromium import Browser, BrowserError

_KEYS: Final = {
    "Enter": (13, "\r"),
    "Escape": (27, ""),
    "Tab": (9, ""),
    " ": (32, " "),
    "ArrowLeft": (37, ""),
    "ArrowUp": (38, ""),
    "ArrowRight": (39, ""),
    "ArrowDown": (40, ""),
    "Home": (36, ""),
    "End": (35, ""),
}
_CTRL: Final = 2


class Page:
    """A tab."""

    def __init__(self, browser: Browser, *, width: int = 1360, height: int = 900) -> None:
        self._browser = browser
        target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self._target = target
        self._session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self._trouble: list[str] = []
        for domain in ("Page", "Runtime", "Log"):
            self._call(f"{domain}.enable")
        self.resize(width, height)

    def _call(self, method: str, **parameters: Any) -> dict[str, Any]:  # noqa: ANN401 - as JSON has them
        return self._browser.call(method, session=self._session, **parameters)

    def close(self) -> None:
        """Close the tab."""
        self._browser.call("Target.closeTarget", targetId=self._target)

    def resize(self, width: int, height: int, *, scale: float = 1, phone: bool = False) -> None:
        """Make it a window, or a phone's screen, of so many CSS pixels."""
        self._call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=phone
        )

    def prefer(self, **features: str) -> None:
        """Set media features, such as `color_scheme="dark"`, and no others."""
        chosen = [{"name": f"prefers-{key.replace('_', '-')}", "value": value} for key, value in features.items()]
        self._call("Emulation.setEmulatedMedia", features=chosen)

    def media(self, kind: str) -> None:
        """Show it as on `print` or `screen`."""
        self._call("Emulation.setEmulatedMedia", media=kind)

    def scripts(self, *, run: bool) -> None:
        """Whether the page's scripts run from the next time on that it is opened."""
        self._call("Emulation.setScriptExecutionDisabled", value=not run)

    def open(self, url: str) -> None:
        """Load a page, to its end."""
        self._call("Page.navigate", url="about:blank")
        self._call("Page.navigate", url=url)
        self.until("document.readyState === 'complete' && location.href !== 'about:blank'")

    def evaluate(self, expression: str) -> Any:  # noqa: ANN401 - as JSON has it
        """The value of an expression; raises BrowserError when it throws."""
        answer = self._call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True, userGesture=True
        )
        if "exceptionDetails" in answer:
            raise BrowserError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def until(self, condition: str, *, within: float = 60) -> None:
        """Wait until an expression is true; raises BrowserError when it is not within so many seconds."""
        end = time.monotonic() + within
        while not self.evaluate(condition):
            if time.monotonic() > end:
                raise BrowserError(f"not true within {within} s: {condition}")
            time.sleep(0.02)

    def text(self, selector: str) -> str:
        """What the first element that a selector finds shows."""
        return str(self.evaluate(f"document.querySelector({json.dumps(selector)}).innerText"))

    def count(self, selector: str) -> int:
        """How many elements that are displayed a selector finds."""
        found = f"[...document.querySelectorAll({json.dumps(selector)})].filter((e) => e.checkVisibility()).length"
        return int(self.evaluate(found))

    def click(self, selector: str) -> None:
        """Click the middle of the first element that a selector finds."""
        x, y = self.evaluate(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            "e.scrollIntoView({block: 'center', inline: 'center', behavior: 'instant'});"
            "const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self._call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def press(self, *keys: str, ctrl: bool = False) -> None:
        """Press keys one after the other: names of the DOM, or characters."""
        for key in keys:
            code, text = _KEYS.get(key, (ord(key[0].upper()), key))
            common = {"key": key, "windowsVirtualKeyCode": code, "modifiers": _CTRL if ctrl else 0}
            self._call("Input.dispatchKeyEvent", type="keyDown", **common, **({"text": text} if text else {}))
            self._call("Input.dispatchKeyEvent", type="keyUp", **common)

    def write(self, text: str) -> None:
        """Type a text."""
        self.press(*text)

    def screenshot(self, path: Path, *, whole: bool = False) -> None:
        """A PNG of what is seen, or of the whole page."""
        data = self._call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        path.write_bytes(base64.b64decode(data))

    def roles(self) -> list[tuple[str, str]]:
        """Role and accessible name of each node of the accessibility tree."""
        nodes = self._call("Accessibility.getFullAXTree")["nodes"]
        return [(node["role"]["value"], node.get("name", {}).get("value", "")) for node in nodes if not node["ignored"]]

    def trouble(self) -> list[str]:
        """All exceptions, warnings and errors so far: of scripts, of the console, of what could not be loaded."""
        for event in self._browser.events():
            kind, details = event.get("method"), event.get("params", {})
            if event.get("sessionId") != self._session:
                continue
            if kind == "Runtime.exceptionThrown":
                self._trouble.append(json.dumps(details["exceptionDetails"]))
            elif kind == "Runtime.consoleAPICalled" and details["type"] in {"error", "warning", "assert"}:
                self._trouble.append(json.dumps(details["args"]))
            elif kind == "Log.entryAdded":
                self._trouble.append(json.dumps(details["entry"]))
        return list(self._trouble)
