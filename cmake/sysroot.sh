#!/usr/bin/env bash
# Makes build/sysroot/MACHINE for a cross compiler: packages of cmake/packages.txt for another processor, with all that they depend on. Installs
# nothing on this machine and needs no root.
#
#   cmake/sysroot.sh MACHINE [GROUP...]    MACHINE: as in uname(1), aarch64; without GROUP: build
#
# Takes only the libraries (-dev) of a group, since programs must run on this machine, but every package of the group MACHINE. Silent and without
# network if the folder has them already. Remove the folder to get newer versions.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. cmake/install-packages.sh

machine="${1:?which machine? aarch64}"
shift
[ "$#" -gt 0 ] || set -- build
case "$machine" in
  aarch64) architecture=arm64 ;;
  *) echo "cmake/sysroot.sh: no cross build for $machine" >&2 && exit 2 ;;
esac
root="$PWD/build/sysroot/$machine"
mapfile -t wanted < <(for group in "$@"; do
  [ "$group" = "$machine" ] && packages_of "$group" || packages_of "$group" | grep -e '-dev$'
done)

# Written last, so an interrupted attempt does not count.
list="$root/packages"
present() { cat "$list" 2>/dev/null || true; }
[ -n "$(printf '%s\n' "${wanted[@]}" | grep -vxFf <(present))" ] || exit 0
mapfile -t wanted < <({ printf '%s\n' "${wanted[@]}" && present; } | sort -u)

# A second apt with the sources and keys of the system's, but with no package installed, so that it fetches every library that another one needs.
new="$root.new"
apt="$new/apt"
rm -rf "$new"
mkdir -p "$apt/lists/partial" "$apt/archives/partial" "$new/usr/lib" "$new/usr/bin" "$new/usr/sbin"
: >"$apt/status"
foreign_apt() {
  apt-get -qq -o APT::Architecture="$architecture" -o APT::Architectures::="$architecture" -o Dir::State="$apt" -o Dir::State::status="$apt/status" \
    -o Dir::Cache="$apt" -o APT::Sandbox::User= -o Acquire::Languages=none "$@"
}
echo "fetching ${#wanted[@]} packages for $machine, and what they need"
if ! { foreign_apt update && foreign_apt -y --no-install-recommends --download-only install "${wanted[@]}"; } >"$apt/log" 2>&1; then
  tail -n 20 "$apt/log" >&2
  echo "apt-get could not fetch packages for $architecture" >&2
  exit 1
fi

for folder in lib bin sbin; do
  ln -s "usr/$folder" "$new/$folder"
done
for package in "$apt"/archives/*.deb; do
  dpkg-deb --fsys-tarfile "$package" | tar -x -C "$new" --keep-directory-symlink --no-same-owner \
    --exclude='./usr/share/man' --exclude='./usr/share/locale' --exclude='./usr/share/info' --exclude='./lib/modules'
done
# A link to /lib/... would lead out of the folder.
find "$new" -type l -lname '/*' -print0 | while IFS= read -r -d '' link; do
  ln -sfnr "$new$(readlink "$link")" "$link"
done
rm -rf "$apt" "$root"
mv "$new" "$root"
printf '%s\n' "${wanted[@]}" >"$list"
