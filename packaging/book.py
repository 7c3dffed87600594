"""Hooks of mkdocs.yml: the book's contents are those of docs/index.md, anchors are those of GitHub, and the search (book_search.js) needs no
server."""

import glob
import html
import json
import os
import re
import shutil

LINK = re.compile(r"\[([^\]]+)\]\(([^)#]+\.md)(#[^)]*)?\)")
OUTSIDE = re.compile(r"\[[^\]]+\]\((?:\.\./)+((?:CHANGELOG|CONTRIBUTING|SECURITY|README|LICENSE|examples|include|packaging|src|tests)[^)#]*)\)")
HEADING = re.compile(r'<h[1-3] id="([^"]*)">(.*?)</h[1-3]>', re.S)
SECTIONS = []  # [url, title, text] of each, for the search


def text_of(markup):
    return " ".join(html.unescape(re.sub(r'<a class="headerlink".*?</a>|<[^>]+>', " ", markup, flags=re.S)).split())


def slug(heading, separator):
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", separator)


def on_config(config):
    with open(os.path.join(config["docs_dir"], "index.md"), encoding="utf-8") as file:
        _, *sections = re.split(r"^## ", file.read(), flags=re.M)
    config["nav"] = [{"The book": "index.md"}]
    for section in sections:
        pages = {page: title for title, page, anchor in LINK.findall(section) if not anchor}
        entries = [{title: page} for page, title in pages.items()]
        config["nav"] += entries if len(entries) == 1 else [{section.splitlines()[0]: entries}]
    config["mdx_configs"].setdefault("toc", {})["slugify"] = slug
    return config


def on_page_markdown(markdown, **_):
    """Links to files that are not part of the book become their paths."""
    return OUTSIDE.sub(r"`\1`", markdown)


def on_page_content(markup, page, **_):
    before, *parts = HEADING.split(markup)
    for anchor, heading, text in zip(parts[::3], parts[1::3], parts[2::3]):
        title = text_of(heading)
        SECTIONS.append([f"{page.url}#{anchor}", title if title == page.title else f"{page.title}: {title}", text_of(text)])
    if not parts:
        SECTIONS.append([page.url, page.title, text_of(before)])


def on_post_build(config):
    for name in ("book_search.js", "book.css"):
        shutil.copy(os.path.join(os.path.dirname(__file__), name), config["site_dir"])
    with open(os.path.join(config["site_dir"], "book_sections.js"), "w", encoding="utf-8") as file:
        file.write(f"window.book_sections = {json.dumps(SECTIONS, ensure_ascii=False)};\n")
    with open(os.path.join(config["site_dir"], "index.html"), encoding="utf-8") as file:
        scripts = re.findall(r'<script src="(js/[^"]+)"', file.read())
    for script in scripts:
        _complete(os.path.join(config["site_dir"], script))


def _complete(script):
    """Debian's mkdocs 1.4.2 has the theme's jquery under the name of another version, and leaves theme_extra.js out."""
    if not os.path.exists(script):
        others = glob.glob(re.sub(r"-[\d.]+min\.js$", "-*", script))
        shutil.copy(others[0] if others else os.devnull, script)
