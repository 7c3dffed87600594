"""Judges the files of run folders by `dlaunch schema events|summary|plan`, strictly: an unknown member is a mistake."""

import copy
import json
import os

import jsonschema

from expectations import expect, expect_equal

FILES = {"events": "events.jsonl", "summary": "summary.json", "plan": "plan.json"}


def strict(schema):
    """The same schema, in which an unknown member is a mistake."""
    def close(one):
        if isinstance(one, list):
            return [close(item) for item in one]
        if not isinstance(one, dict):
            return one
        one = {key: close(value) for key, value in one.items()}
        if one.get("type") in ("object", ["object", "null"]) and "properties" in one and "additionalProperties" not in one:
            one["unevaluatedProperties"] = False
        return one
    closed = close(schema)
    # The branches for the events are parts of one object.
    closed["allOf"] = copy.deepcopy(schema.get("allOf", []))
    if not closed["allOf"]:
        del closed["allOf"]
    return closed


def schemas(box):
    found = {name: json.loads(box.run("schema", name).out) for name in FILES}
    for schema in found.values():
        jsonschema.Draft202012Validator.check_schema(schema)
    return found


def mistakes(schema, value):
    validator = jsonschema.Draft202012Validator(strict(schema))
    return [f"{list(error.absolute_path)}: {error.message[:300]}" for error in validator.iter_errors(value)]


def check_all(box, wanted=(), runs="runs"):
    """Every file of every run in the folder `runs`; `wanted`: events that must be among them."""
    found = schemas(box)
    seen = set()
    checked = 0
    for run in box.runs(runs):
        for name, file in FILES.items():
            path = box.path(runs, run, file)
            if not os.path.exists(path):
                continue
            content = box.read(path).decode()
            for value in map(json.loads, content.splitlines()) if name == "events" else [json.loads(content)]:
                expect_equal(mistakes(found[name], value), [], f"{file} of {run}: {json.dumps(value)[:300]}")
                checked += 1
                if name == "events":
                    seen.add(value["event"])
    expect(checked > 1, f"only {checked} values were checked")
    expect_equal(sorted(set(wanted) - seen), [], f"events that no run has, of {sorted(seen)}")
