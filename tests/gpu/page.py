#!/usr/bin/env python3
"""docs/gpu.md, made from the figures of tests/gpu/run.sh.

  tests/gpu/page.py build/gpu.json > docs/gpu.md
"""

import json
import sys


def table(head, rows):
    widths = [max(len(str(row[i])) for row in [head, *rows]) for i in range(len(head))]
    lines = [head, ["-" * (width - 1) + ":" if i else "-" * width for i, width in enumerate(widths)], *rows]
    return "\n".join("| " + " | ".join(str(cell).ljust(width) for cell, width in zip(line, widths)) + " |" for line in lines)


def check_table(local):
    head = ["GPU", "to it, GB/s", "from it, GB/s", "within, GB/s", "float32, TFLOP/s", "float16, TFLOP/s"]
    names = ("to_device_gbyte_s", "to_host_gbyte_s", "within_gbyte_s", "float32_tflop_s", "float16_tflop_s")
    rows = [[number, *(f"{gpu[name]:.1f}" for name in names)] for number, gpu in enumerate(local["gpus"])]
    return f"{local['seconds']:.1f} s in all.\n\n{table(head, rows)}"


def bench_table(operations):
    head = ["operation", "bytes", "us", "bus, GB/s", "in place, us", "in place, GB/s"]
    rows = []
    for operation, found in operations.items():
        for row in found:
            places = [row["out_of_place"], row["in_place"]]
            figures = [text for place in places for text in ((f"{place['time_us']:.1f}", f"{place['busbw'] or 0:.1f}") if place else ("-", "-"))]
            rows.append([operation, row["bytes"], *figures])
    return table(head, rows)


def page(figures):
    here = {"date": "an unknown day", **dict.fromkeys(("gpus", "model", "driver", "nccl", "torch", "dlaunch"), "?"), **figures.get("machine", {})}
    parts = [f"""# GPU

What only a GPU can show, measured on {here['date']} by `tests/gpu/run.sh` in {figures.get('seconds', 0):.0f} s: {here['gpus']} x {here['model']}, driver {here['driver']}, {here['nccl']}, PyTorch {here['torch']}, dlaunch {here['dlaunch']}.

{table(['case', 'outcome', 'seconds'], [[one['name'].replace('_', ' '), one['outcome'], f"{one['seconds']:.1f}"] for one in figures['cases']])}"""]
    reasons = [f"- {one['name'].replace('_', ' ')}: {' '.join(one['detail'].split())}" for one in figures["cases"] if one["detail"]]
    if reasons:
        parts.append("Not passed, and why:\n\n" + "\n".join(reasons))
    if "check" in figures:
        parts.append("## `dlaunch check --local`\n\n" + check_table(figures["check"]))
    if "bench" in figures:
        parts.append("## `dlaunch bench`\n\nBus bandwidth by the formulas of nccl-tests; with one GPU each call is a copy within it.\n\n" + bench_table(figures["bench"]))
    if "plain" in figures:
        parts.append("## The library beside plain NCCL\n\n" + figures["plain"].strip())
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        print(page(json.load(file)), end="")
