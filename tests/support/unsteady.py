"""Classifies failed cases by repeating them, and lists the few cases that may fail at first.

A failed case is repeated alone. If it then always passes, it is *unsteady*, and the report says so, to show the reader where to look. It still counts
as failed, unless KNOWN names it with a reason.
"""

import results

REPEATS = 3        # how often an unsteady case has to pass
MOST_UNSTEADY = 3  # more failures than this do not come from a busy machine, so nothing is repeated

# "program.case" or "cases_file.case": why it cannot be made steady.
KNOWN = {}


def settle(cases, passes_alone):
    """Marks the failed cases that pass REPEATS times alone; `passes_alone(index, repeat)` runs one of them once."""
    failed = [i for i, one in enumerate(cases) if one["outcome"] == results.FAILED]
    if len(failed) > MOST_UNSTEADY:
        return
    for i in failed:
        if all(passes_alone(i, repeat) for repeat in range(REPEATS)):
            cases[i]["unsteady"] = KNOWN.get(cases[i]["name"], "")
            if cases[i]["unsteady"]:
                cases[i]["outcome"] = results.PASSED
