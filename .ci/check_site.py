"""Look at the site that `make docs` wrote: links, accessibility, search without network, screenshots at three widths.

In: build/site, Chromium, and axe-core (`npm install axe-core`, in build/axe). Out: what is wrong, and status 1; the
pictures are in build/screenshots. usage: python .ci/check_site.py [PAGE ...]; without pages, all are checked by axe.
"""

from __future__ import annotations

import functools
import http.server
import json
import re
import sys
import threading
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag

ROOT = Path(__file__).resolve().parents[1]
SITE, PICTURES = ROOT / "build" / "site", ROOT / "build" / "screenshots"
AXE = ROOT / "build" / "axe" / "node_modules" / "axe-core" / "axe.min.js"
sys.path.insert(0, str(ROOT / "tests" / "support"))

import chromium  # noqa: E402

WIDTHS = {"phone": 390, "tablet": 820, "desktop": 1440}
TEMPLATES = ("index", "first-kernel", "gallery", "api/ti", "troubleshooting", "404", "playground/index")
"""A page of each kind: tables, code, pictures, the reference, long tables, the page for wrong addresses."""
SEARCHES = {"atomic_add": "api/ti", "grid-stride": "", "out of bound": ""}


class _Links(HTMLParser):
    """The addresses and anchors of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.anchors.update(value for name in ("id", "name") if (value := values.get(name)))
        self.targets += [value for name in ("href", "src") if (value := values.get(name))]


def broken_links() -> Iterator[str]:
    """Yield each link of the site to a page, a picture or an anchor that is not there."""
    pages = {path: _Links(path.read_text("utf-8")) for path in SITE.rglob("*.html")}
    for page, links in pages.items():
        for link in links.targets:
            address, anchor = urldefrag(link)
            if re.match(r"[a-z]+:|//", address) or page.name == "404.html":
                continue
            target = (page.parent / unquote(address)).resolve() if address else page
            target = target / "index.html" if target.is_dir() else target
            if not target.exists():
                yield f"{page.relative_to(SITE)}: {link}: no such file"
            elif anchor and target in pages and unquote(anchor) not in pages[target].anchors:
                yield f"{page.relative_to(SITE)}: {link}: no such anchor"


class _Quiet(http.server.SimpleHTTPRequestHandler):
    """A server that prints nothing."""

    def log_message(self, *args: Any) -> None:
        pass


def serve() -> str:
    """Serve the site from this machine; return its address."""
    handler = functools.partial(_Quiet, directory=str(SITE))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


def violations(browser: chromium.Browser) -> list[str]:
    """Return what axe finds on the page that is open."""
    browser.run(AXE.read_text("utf-8") + ";0")
    found = json.loads(browser.run("axe.run(document).then(found => JSON.stringify(found.violations))"))
    return [
        f"{item['id']} ({item['impact']}), {len(item['nodes'])}: {item['nodes'][0]['html'][:150]}" for item in found
    ]


def search(browser: chromium.Browser, words: str) -> list[str]:
    """Return the pages that the site's search finds."""
    browser.run(
        "(async () => { const box = document.querySelector('[data-md-component=search-query]'); box.focus();"
        f" box.value = {json.dumps(words)}; box.dispatchEvent(new Event('keyup'));"
        " box.dispatchEvent(new Event('input'));"
        " for (let n = 0; n < 60 && !document.querySelector('.md-search-result__link'); n++)"
        " await new Promise(done => setTimeout(done, 100)); })()"
    )
    found: list[str] = browser.run("[...document.querySelectorAll('.md-search-result__link')].map(link => link.href)")
    return found


def check(pages: list[str]) -> Iterator[str]:
    """Yield all that is wrong."""
    yield from broken_links()
    PICTURES.mkdir(exist_ok=True)
    address = serve()
    for name, width in WIDTHS.items():
        browser = chromium.Browser(width, 900)
        try:
            everything = sorted(str(path.relative_to(SITE))[:-5] for path in SITE.rglob("*.html"))
            for page in (pages or everything) if name == "desktop" else TEMPLATES:
                if not (SITE / f"{page}.html").exists():
                    continue
                browser._navigate(f"{address}/{page}.html")
                if browser.run("document.documentElement.scrollWidth > innerWidth + 1"):
                    yield f"{page}, {width}: the page is wider than the window"
                if page in TEMPLATES:
                    browser.screenshot(PICTURES / f"{page.replace('/', '-')}-{name}.png")
                if AXE.exists():
                    yield from (f"{page}, {width}: {text}" for text in violations(browser))
            for words, page in SEARCHES.items() if name == "desktop" else ():
                browser._navigate(f"{address}/index.html")
                found = search(browser, words)
                if not any(page in link for link in found):
                    yield f"the search for {words!r} finds {found}"
            yield from (f"{url}: a request to elsewhere" for url in browser.requests if not _is_own(url, address))
        finally:
            browser.close()


def _is_own(url: str, address: str) -> bool:
    return url.startswith((address, "data:", "about:", "blob:"))


if __name__ == "__main__":
    if not AXE.exists():
        print("without axe: npm install --prefix build/axe axe-core")
    problems = list(dict.fromkeys(check(sys.argv[1:])))
    print("\n".join(problems) or "the site is as it should be")
    sys.exit(bool(problems))
