# Shell library, to be sourced by bash scripts: installs the packages of cmake/packages.txt.
#
#   install_packages GROUP...    installs the missing packages of the groups; silent and without
#                                network if none is missing. Returns 1 with a message on failure.

package_list="$(dirname "${BASH_SOURCE[0]}")/packages.txt"

# packages_of GROUP...: names, one per line.
packages_of() {
  local group
  for group in "$@"; do
    awk -v group="$group" '$1 == group { print $2 }' "$package_list"
  done | sort -u
}

# missing_packages NAME...: those that are not installed.
missing_packages() {
  local name
  for name in "$@"; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null)" = installed ] || echo "$name"
  done
}

# as_root COMMAND...
as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  else
    sudo "$@"
  fi
}

# Installs without starting anything: a daemon (openssh-server, for nodes of the tests) must not begin
# to listen on a developer's machine. Debian asks /usr/sbin/policy-rc.d (invoke-rc.d(8)); if there is
# one already, it stays unchanged.
apt_install() {
  as_root env DEBIAN_FRONTEND=noninteractive sh -c '
    policy=/usr/sbin/policy-rc.d
    if [ ! -e "$policy" ]; then
      trap "rm -f $policy" EXIT
      printf "#!/bin/sh\nexit 101\n" >"$policy" && chmod 755 "$policy"
    fi
    apt-get install -y -qq --no-install-recommends -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=120 "$@"
  ' sh "$@"
}

install_packages() {
  local wanted missing log
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    echo "This script installs Debian packages, and there is no apt here." >&2
    echo "Install what these packages contain, then build with cmake --preset release:" >&2
    packages_of "$@" | paste -sd ' ' | fold -s -w 78 >&2
    return 1
  fi
  mapfile -t wanted < <(packages_of "$@")
  mapfile -t missing < <(missing_packages "${wanted[@]}")
  [ "${#missing[@]}" -gt 0 ] || return 0

  if [ "$(id -u)" != 0 ] && ! { [ -t 0 ] && command -v sudo >/dev/null; } &&
    ! sudo -n true 2>/dev/null; then
    echo "Missing packages, and neither root nor sudo to install them. Ask somebody who may, for:" >&2
    echo "  apt-get install --no-install-recommends ${missing[*]}" >&2
    return 1
  fi

  echo "installing ${#missing[@]} packages: ${missing[*]}"
  log="$(mktemp)"
  # The package index may be missing (a fresh container) or too old; it is fetched only if needed.
  if ! apt_install "${missing[@]}" >"$log" 2>&1 </dev/null &&
    ! { as_root apt-get update -qq >"$log" 2>&1 </dev/null &&
      apt_install "${missing[@]}" >>"$log" 2>&1 </dev/null; }; then
    tail -n 20 "$log" >&2
    rm -f "$log"
    echo "apt-get could not install: ${missing[*]}" >&2
    return 1
  fi
  rm -f "$log"
}
