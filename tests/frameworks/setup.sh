#!/usr/bin/env bash
# Makes the Python environments of the tests, outside of the source tree: ~/.cache/dlaunch-test/ (13 GB). Safe to run again:
# existing packages stay. Says at the end what could not be installed; the cases that need it are then skipped.
#
#   tests/frameworks/setup.sh                  all of them
#   tests/frameworks/setup.sh jax horovod-tf   some: torch tf jax horovod-tf horovod-torch py-spy (tests/run.sh makes that one)
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. cmake/install-packages.sh
CACHE="$HOME/.cache/dlaunch-test"
LOG="$CACHE/setup.log"
failed=()

# folder_of ENVIRONMENT
folder_of() {
  if [ "$1" = py-spy ]; then echo "$CACHE/py-spy"; else echo "$CACHE/$1-venv"; fi
}

# has ENVIRONMENT PACKAGE==VERSION...: whether these versions are installed.
has() {
  local python
  python="$(folder_of "$1")/bin/python3"
  shift
  [ -x "$python" ] && "$python" - "$@" <<'PYTHON'
import importlib.metadata as metadata, sys
def version(name):
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
sys.exit(any(version(name) != wanted for name, wanted in (word.split("==") for word in sys.argv[1:])))
PYTHON
}

# environment NAME [OPTION of venv]
environment() {
  [ -x "$(folder_of "$1")/bin/pip" ] || /usr/bin/python3 -m venv "${@:2}" "$(folder_of "$1")" >>"$LOG" 2>&1
}

# attempt NAME COMMAND...: runs the command; records a failure.
attempt() {
  local name="$1"
  shift
  echo "$name: installing"
  "$@" >>"$LOG" 2>&1 && return
  echo "$name: FAILED; the end of $LOG:"
  tail -n 15 "$LOG" | sed 's/^/  | /'
  failed+=("$name")
}

pip_install() {
  "$(folder_of "$1")/bin/pip" install --disable-pip-version-check "${@:2}"
}

# A single program of 8 MB, without other packages.
PY_SPY=(py-spy==0.4.3)
make_py_spy() {
  has py-spy "${PY_SPY[@]}" && return
  environment py-spy
  attempt py-spy pip_install py-spy --retries 1 --timeout 10 "${PY_SPY[@]}"
}

# PyTorch from PyPI includes its GPU libraries (6 GB) on every machine.
TORCH=(torch==2.15.0 numpy==2.4.6 scikit-learn==1.9.1)
TORCH_MORE=(lightning==2.6.6 transformers==5.23.0 accelerate==1.15.0)
DEEPSPEED=(deepspeed==0.19.8 mpi4py==4.1.2)
make_torch() {
  has torch "${TORCH[@]}" "${TORCH_MORE[@]}" "${DEEPSPEED[@]}" && make_accelerate && return
  environment torch
  attempt torch pip_install torch "${TORCH[@]}" setuptools wheel
  attempt "lightning, transformers, accelerate" pip_install torch "${TORCH_MORE[@]}"
  DS_BUILD_OPS=0 attempt deepspeed pip_install torch --no-build-isolation "${DEEPSPEED[@]}"
  make_accelerate
}

# More releases for accelerate_launch.py, which imports them together with the other packages of the environment `torch`.
ACCELERATE=(0.25.0 0.34.2 1.0.1 1.4.0 1.8.1 1.12.0)
make_accelerate() {
  local release
  for release in "${ACCELERATE[@]}"; do
    [ -d "$CACHE/accelerate/$release/accelerate" ] && continue
    attempt "accelerate $release" pip_install torch --no-deps --target "$CACHE/accelerate/$release" "accelerate==$release"
  done
}

TENSORFLOW=(tensorflow-cpu==2.21.0)
make_tf() {
  has tf "${TENSORFLOW[@]}" && return
  environment tf
  attempt tensorflow pip_install tf "${TENSORFLOW[@]}"
}

# The last release for Python 3.11.
JAX=(jax==0.10.2 jaxlib==0.10.2 numpy==2.4.6)
make_jax() {
  has jax "${JAX[@]}" && return
  environment jax
  attempt jax pip_install jax "${JAX[@]}"
}

# Horovod's last release is of June 2023 and builds against the versions of that time: TensorFlow up to 2.13, PyTorch up to 2.0. For PyTorch, Debian's
# 1.13 is used, with its headers. pip caches only one build of Horovod, hence --no-cache-dir.
HOROVOD=horovod==0.28.1
HOROVOD_NEEDS=(setuptools==65.7.0 wheel packaging cloudpickle psutil pyyaml cffi)
horovod() {
  env "${@:2}" HOROVOD_WITHOUT_MXNET=1 HOROVOD_WITH_MPI=1 HOROVOD_WITHOUT_GLOO=1 MAKEFLAGS="-j$(nproc)" \
    "$CACHE/$1-venv/bin/pip" install --disable-pip-version-check --no-build-isolation --no-cache-dir --no-deps "$HOROVOD"
}

make_horovod_tf() {
  has horovod-tf tensorflow-cpu==2.13.1 "$HOROVOD" && return
  environment horovod-tf
  attempt "tensorflow for horovod" pip_install horovod-tf tensorflow-cpu==2.13.1 "${HOROVOD_NEEDS[@]}"
  attempt "horovod for tensorflow" horovod horovod-tf HOROVOD_WITH_TENSORFLOW=1 HOROVOD_WITHOUT_PYTORCH=1
}

make_horovod_torch() {
  has horovod-torch "$HOROVOD" && return
  environment horovod-torch --system-site-packages
  attempt "packages for horovod" pip_install horovod-torch "${HOROVOD_NEEDS[@]}"
  attempt "horovod for pytorch" horovod horovod-torch HOROVOD_WITH_PYTORCH=1 HOROVOD_WITHOUT_TENSORFLOW=1
}

mkdir -p "$CACHE"
: >"$LOG"
[ "$*" = py-spy ] || install_packages examples frameworks || failed+=("Debian's packages")
for name in "${@:-torch tf jax horovod-tf horovod-torch py-spy}"; do
  for one in $name; do
    case "$one" in
      torch | tf | jax | horovod-tf | horovod-torch | py-spy) "make_${one//-/_}" ;;
      *) echo "setup.sh: no environment $one; there are: torch tf jax horovod-tf horovod-torch py-spy" >&2; exit 64 ;;
    esac
  done
done
if [ "${#failed[@]}" -gt 0 ]; then
  printf 'could not be had: %s\n' "${failed[@]}"
  exit 1
fi
echo "all there, in $CACHE"
