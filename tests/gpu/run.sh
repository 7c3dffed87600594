#!/bin/sh
# Everything that only a GPU can show, in one command: the cases, and their figures as JSON.
#
#   tests/gpu/run.sh [FILE]                            default: build/gpu.json
#   tests/gpu/page.py build/gpu.json > docs/gpu.md     the page of these figures, failed cases included
#
# Needs a driver, libnccl.so.2 (a PyTorch has one) and what was built before, here or elsewhere:
#   cmake --preset release && cmake --build --preset release
#   cmake -S tests/gpu/programs -B build/gpu && cmake --build build/gpu
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
figures=$(realpath "${1:-$top/build/gpu.json}")
cd "$top"
if [ ! -x build/release/bin/dlaunch ]; then
  echo "tests/gpu/run.sh: build/release/bin/dlaunch is missing; try: cmake --preset release && cmake --build --preset release" >&2
  exit 1
fi
set -- --figures "$figures"
[ ! -x build/gpu/reference ] || set -- "$@" --programs build/gpu
exec python3 tests/gpu/run.py "$@"
