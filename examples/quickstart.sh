#!/usr/bin/env bash
# From a fresh checkout to a distributed PyTorch training on this machine: installs the Debian packages
# that are missing, builds dlaunch and runs examples/pytorch-ddp on 4 processes. Harmless to run again.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. cmake/install-packages.sh

install_packages build examples

dlaunch=build/release/bin/dlaunch
log="$(mktemp)"
trap 'rm -f "$log"' EXIT
[ -x "$dlaunch" ] || echo "building $dlaunch (some minutes)"
if ! { cmake --preset release && cmake --build --preset release; } >"$log" 2>&1; then
  tail -n 40 "$log" >&2
  echo "the build failed" >&2
  exit 1
fi

echo "\$ $dlaunch run examples/pytorch-ddp/job.yaml"
"$dlaunch" run examples/pytorch-ddp/job.yaml
