#!/usr/bin/env bash
# Builds dlaunch for aarch64 on an x86_64 machine, and packs it. The first time, installs a cross compiler and qemu (as root or with sudo), and
# fetches the libraries for aarch64.
#
#   packaging/aarch64.sh [--out FOLDER]    default: build/packages-aarch64, apart from the packages for this machine
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. cmake/install-packages.sh

install_packages cross
cmake/sysroot.sh aarch64
cmake --preset release-aarch64
cmake --build --preset release-aarch64
packaging/make.py --binary build/release-aarch64/bin/dlaunch --run-with qemu-aarch64-static --sysroot build/sysroot/aarch64 \
  --out build/packages-aarch64 "$@"
