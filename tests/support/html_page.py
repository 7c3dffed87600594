"""Reads a report as a strict parser does: elements that are not closed, and anything that is loaded from elsewhere, are mistakes."""

import html.parser
import os
import urllib.parse

from expectations import expect_equal, expect_in

VOID = {"meta", "br", "input", "link", "img", "hr"}
# SVG elements that are written as <line/>.
SELF_CLOSING = {"line", "path", "rect", "circle"}


def report_page(box, *words, file=None):
    """The page that `dlaunch report` writes, which has no mistakes."""
    path = box.run("report", *words).out.decode().splitlines()[0]
    page = Page(box.path(file or path))
    expect_equal(page.mistakes, [], "mistakes of the page")
    expect_in([script.get("type") for script in page.scripts], (["application/json", None], [None]), "scripts")  # data, if there are variables
    return page


class Page(html.parser.HTMLParser):
    def __init__(self, path):
        super().__init__(convert_charrefs=True)
        self.mistakes, self.links, self.ids, self.scripts, self.titles = [], [], [], [], []
        self.texts = {}  # of the section with this id
        self.headline = ""
        self._open, self._section = [], None
        with open(path, encoding="utf-8") as file:
            self.source = file.read()
        self.feed(self.source)
        self.close()
        self.mistakes += [f"<{name}> is not closed" for name in self._open]
        self.mistakes += [f"two elements have the id {one}" for one in set(self.ids) if self.ids.count(one) > 1]
        for link in self.links:
            parts = urllib.parse.urlsplit(link)
            target = os.path.join(os.path.dirname(path), urllib.parse.unquote(parts.path))
            if parts.scheme or parts.netloc:
                self.mistakes.append(f"a link leads outside: {link}")
            elif link.startswith("#"):
                if link[1:] not in self.ids:
                    self.mistakes.append(f"nothing has the id {link}")
            elif not os.path.exists(target):
                self.mistakes.append(f"there is no {target}")

    def handle_starttag(self, tag, attrs):
        names = [name for name, _ in attrs]
        if len(set(names)) != len(names):
            self.mistakes.append(f"<{tag}> has an attribute twice")
        values = dict(attrs)
        self.mistakes += [f"<{tag} {name}>" for name in names if name.startswith("on") or name in ("src", "style", "xlink:href")]
        if tag in ("iframe", "object", "embed", "img", "link", "base"):
            self.mistakes.append(f"<{tag}>")
        if "href" in values:
            self.links.append(values["href"])
        if "id" in values:
            self.ids.append(values["id"])
        if tag in ("section", "header"):
            self._section = values.get("id")
        if tag == "script":
            self.scripts.append(values)
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag, attrs):
        if tag not in SELF_CLOSING:
            self.mistakes.append(f"<{tag}/>")
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self._open.pop()

    def handle_endtag(self, tag):
        if not self._open or self._open[-1] != tag:
            self.mistakes.append(f"</{tag}> closes {self._open[-1:]}")
        else:
            self._open.pop()
        if tag in ("section", "header"):
            self._section = None

    def handle_data(self, data):
        if self._open and self._open[-1] == "h1":
            self.headline += data
        if self._open and self._open[-1] == "title":
            self.titles.append(data)
        if self._section and "script" not in self._open:
            self.texts[self._section] = self.texts.get(self._section, "") + data
