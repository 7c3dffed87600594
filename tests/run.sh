#!/usr/bin/env bash
# Installs what the tests need, builds, runs the suites and counts. docs/internals/testing.md has the details.
#
#   tests/run.sh                       the usual suites
#   tests/run.sh --all                 benchmarks and long versions too
#   tests/run.sh --only unit,process   some suites
#   tests/run.sh --patience 3          on a busy machine: three times the time budgets
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. cmake/install-packages.sh

groups=(build test examples)
# If these cannot be installed, the cases that need them are skipped with a reason.
optional=(slurm containers yama browser)
for argument in "$@"; do
  [ "$argument" != --all ] || { groups+=(bench long) && optional+=(cross emulator); }
done
install_packages "${groups[@]}"
for group in "${optional[@]}"; do
  install_packages "$group" || true
done

tests/frameworks/setup.sh py-spy >/dev/null || echo "py-spy cannot be installed: cases that need it are skipped" >&2

# Debian's own interpreter: another python3 may come first in PATH.
exec /usr/bin/python3 tests/support/run_suites.py "$@" </dev/null
