"""The book as HTML (mkdocs.yml) must build without a warning, and every link in it must lead somewhere."""

import os
import re
import shutil
import subprocess
import tempfile
from html.parser import HTMLParser


class Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.anchors, self.links = set(), []

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.anchors.add(attributes.get("id"))
        if tag == "a" and attributes.get("href"):
            self.links.append(attributes["href"])


def why_not():
    return "" if shutil.which("mkdocs") else "mkdocs is not installed"


def problems(top):
    """(faults, number of links)"""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(["mkdocs", "build", "-q", "-d", folder], cwd=top, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            return [done.stdout + done.stderr], 0
        pages = _read(folder)
        found = [text for path, page in pages.items() for link in page.links for text in _problem(folder, pages, path, link)]
        return found, sum(len(page.links) for page in pages.values())


def _read(folder):
    pages = {}
    for at, _, files in os.walk(folder):
        for name in files:
            if name.endswith(".html") and name != "404.html":  # for servers; its links begin at the root
                path = os.path.relpath(os.path.join(at, name), folder)
                pages[path] = Page()
                with open(os.path.join(at, name), encoding="utf-8") as file:
                    pages[path].feed(file.read())
    return pages


def _problem(folder, pages, path, link):
    if re.match(r"[a-z]+:", link):
        return
    target, _, anchor = link.partition("#")
    target = os.path.normpath(os.path.join(os.path.dirname(path), target)) if target else path
    if not os.path.exists(os.path.join(folder, target)):
        yield f"{path}: {link} leads to no file"
    elif anchor and anchor not in pages[target].anchors:
        yield f"{path}: {link} leads to no heading"
