"""run_case.py PATH SANDBOX MODULE CASE FOLDER RESULT DLAUNCH RANK_PROGRAM: runs one case in this process, which run.py has made the init process of a
namespace, and writes its outcome as JSON to RESULT. PATH: the folders of the modules, separated as in $PATH; SANDBOX: MODULE.CLASS."""

import json
import os
import signal
import sys
import traceback

from expectations import Skip
from processes import descendants_of


def kill_all(pids):
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def describe(error, module_name):
    lines = traceback.format_exception(error)
    where = [line for line in lines if f"{module_name}.py" in line]
    return f"{error}\n{where[-1].strip()}" if where and isinstance(error, AssertionError) else "".join(lines)


def run_case(make_sandbox, module_name, case_name, folder, dlaunch, rank_program):
    namespaced = os.getpid() == 1
    box = make_sandbox(folder, dlaunch, rank_program, namespaced)
    try:
        getattr(__import__(module_name), case_name)(box)
        box.finish()
        box.close()
        box.expect_nobody("after the case", 5.0)
        return {"outcome": "passed", "detail": ""}
    except Skip as reason:
        return {"outcome": "skipped", "detail": str(reason)}
    except BaseException as error:
        return {"outcome": "failed", "detail": describe(error, module_name)}
    finally:
        box.close()
        if not namespaced:
            kill_all(descendants_of(os.getpid()))


def main():
    path, sandbox, module_name, case_name, folder, result, dlaunch, rank_program = sys.argv[1:]
    sys.path[:0] = path.split(os.pathsep)
    sandbox_module, sandbox_class = sandbox.split(".")
    make_sandbox = getattr(__import__(sandbox_module), sandbox_class)
    outcome = run_case(make_sandbox, module_name, case_name, folder, dlaunch, rank_program)
    with open(result, "w", encoding="utf-8") as file:
        json.dump(outcome, file)
    os._exit(0)


if __name__ == "__main__":
    main()
