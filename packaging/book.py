"""Hooks of mkdocs.yml: the book's contents are those of docs/index.md, and anchors are those of GitHub."""

import os
import re

LINK = re.compile(r"\[([^\]]+)\]\(([^)#]+\.md)(#[^)]*)?\)")
OUTSIDE = re.compile(r"\[[^\]]+\]\((?:\.\./)+((?:CHANGELOG|CONTRIBUTING|SECURITY|README|LICENSE|examples|include|packaging|src|tests)[^)#]*)\)")


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
