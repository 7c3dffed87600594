"""Writes the table of docs/reference/frameworks.md from the results of a run of all rows."""

import datetime
import os

import environments
import results
from rows import ROWS

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGE = os.path.join(TOP, "docs", "reference", "frameworks.md")
BEGIN, END = "<!-- begin: made by tests/frameworks/run.py --table -->", "<!-- end -->"


def short(text):
    """The upstream version: "1.13.1" of Debian's "1.13.1+dfsg-4"."""
    return text.split("+")[0].split("-")[0].split(":")[-1]


def versions(row):
    parts = [f"{name} {short(environments.version(row.environment, package) or '?')}" for name, package in row.versions.items()]
    return ", ".join(parts) + (" (Debian)" if row.environment == environments.DEBIAN else "")


def command(row, place):
    arguments = ("--", *place.arguments) if place.arguments else ()
    return " ".join(["dlaunch run", f"examples/{row.job}", *place.options, *arguments])


def result(outcome):
    if outcome is None:
        return "not run"
    if outcome["outcome"] == results.PASSED:
        return f"ok, {outcome['seconds']:.0f} s" + (", unsteady" if outcome.get("unsteady") else "")
    return f"{outcome['outcome']}: {outcome['detail'].splitlines()[0]}"


def lines(cases):
    by_name = {one["name"].rpartition(".")[2]: one for one in cases}
    yield "| what | version | job file | nodes x ranks | result | command to repeat |"
    yield "|---|---|---|---|---|---|"
    for row in ROWS:
        for place, name, nodes in ((row.here, "here", 1), (row.nodes, "on_two_nodes", 2)):
            # There are more processes than ranks for TensorFlow's tasks, of which only the workers meet.
            shape = f"{nodes} x {place.world // nodes}" if place.processes <= place.world else f"{nodes}: {place.processes} tasks"
            yield (f"| {row.title} | {versions(row)} | [{row.job}](../../examples/{row.job}) | {shape} "
                   f"| {result(by_name.get(f'{row.name}_{name}'))} | `{command(row, place)}` |")


def write(cases):
    with open(PAGE, encoding="utf-8") as file:
        text = file.read()
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    numbers = {what: sum(one["outcome"] == what for one in cases) for what in (results.PASSED, results.SKIPPED)}
    head = (f"{datetime.date.today()}, on {os.cpu_count()} cores, without a GPU; {numbers[results.PASSED]} cases passed, "
            f"{numbers[results.SKIPPED]} skipped.")
    with open(PAGE, "w", encoding="utf-8") as file:
        file.write("\n".join([before + BEGIN, head, "", *lines(cases), END + after]))
