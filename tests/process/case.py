"""@case marks a function of a cases_*.py module as a test case; it gets a Sandbox."""

from dataclasses import dataclass

CASES = []


@dataclass
class Case:
    module: str
    name: str
    alone: bool  # must not run beside other cases
    budget: float  # seconds
    long: bool  # only with --all


def case(function=None, *, alone=False, budget=60.0, long=False):
    def mark(marked):
        CASES.append(Case(marked.__module__, marked.__name__, alone, budget, long))
        return marked
    return mark(function) if function else mark
