"""YAML of the core schema (YAML 1.2.2, section 10.3.2), with PyYAML's parser: `no` is a text, and 017 is 17.

PyYAML's own loaders follow YAML 1.1, so this uses only its events. It gives a second opinion on what a file means, beside dlaunch's reader."""

import re

import yaml

NULL = re.compile(r"(null|Null|NULL|~|)\Z")
BOOLEAN = re.compile(r"(true|True|TRUE|false|False|FALSE)\Z")
INTEGER = re.compile(r"([-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)\Z")
FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?\Z")
INFINITE = re.compile(r"[-+]?\.(inf|Inf|INF)\Z")
NAN = re.compile(r"\.(nan|NaN|NAN)\Z")
STRING_TAG = "tag:yaml.org,2002:str"


class Unusable(Exception):
    """YAML that job files may not use, or text that is not YAML."""


def plain(text):
    if NULL.match(text):
        return None
    if BOOLEAN.match(text):
        return text[0] in "tT"
    if INTEGER.match(text):
        base = {"0o": 8, "0x": 16}.get(text[:2], 10)
        return int(text[2:] if base != 10 else text, base)
    if FLOAT.match(text):
        return float(text)
    if INFINITE.match(text):
        return float("-inf" if text[0] == "-" else "inf")
    return float("nan") if NAN.match(text) else text


class Builder:
    def __init__(self, events):
        self.events = events
        self.anchors = {}

    def value(self, event, as_key=False):
        if isinstance(event, yaml.AliasEvent):
            return self.anchors[event.anchor]
        if event.tag not in (None, STRING_TAG, "!"):
            raise Unusable(f"tag {event.tag}")
        if isinstance(event, yaml.ScalarEvent):
            is_plain = event.implicit[0] and event.style is None and event.tag is None
            # The name of a key is its text, whatever it looks like.
            result = plain(event.value) if is_plain and not as_key else event.value
        elif as_key:
            raise Unusable("a key that is no text")
        elif isinstance(event, yaml.SequenceStartEvent):
            result = self.sequence()
        else:
            result = self.mapping()
        if event.anchor:
            self.anchors[event.anchor] = result
        return result

    def sequence(self):
        items = []
        while not isinstance(event := next(self.events), yaml.SequenceEndEvent):
            items.append(self.value(event))
        return items

    def mapping(self):
        members = {}
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            key = self.value(event, as_key=True)
            if key in members:
                raise Unusable(f"duplicate key {key}")
            if key == "<<":
                raise Unusable("merge key")
            members[key] = self.value(next(self.events))
        return members


def load(text):
    try:
        events = yaml.parse(text, Loader=yaml.BaseLoader)
        root = None
        documents = 0
        for event in events:
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                root = Builder(events).value(next(events))
        if documents > 1:
            raise Unusable("several documents")
        return root
    except (yaml.YAMLError, KeyError) as error:
        raise Unusable(str(error)) from error
