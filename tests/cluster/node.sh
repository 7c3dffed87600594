#!/bin/sh
# HIDDEN="FOLDER ..." node.sh NAME ADDRESS ADDRESS6 FOLDER VISIBLE...: boots one node. It is the init process of the node's PID
# namespace, in a network, UTS, IPC and mount namespace of the node's own. What the node shares with the others are the folders VISIBLE
# (as by NFS, at the same place), in which those of HIDDEN are empty, and the system's programs; home, /tmp, /var/tmp, /run and
# /dev/shm are its own.
set -eu
name=$1 address=$2 address6=$3 folder=$4
shift 4

hostname "$name"
ip -batch - <<END
link set lo up
addr replace $address dev eth0
addr replace $address6 dev eth0 nodad
link set eth0 up
END

mount -t tmpfs -o mode=755 tmpfs /run
mkdir /run/own /run/sshd /run/home /run/trainer
mount -t tmpfs -o mode=1777 tmpfs /run/own
for path in "$@"; do
  case $path in
    /tmp/*)
      mkdir -p "/run/own${path#/tmp}"
      mount --rbind "$path" "/run/own${path#/tmp}"
      ;;
  esac
done
mount --rbind /run/own /tmp
umount -l /run/own
rmdir /run/own
for path in $HIDDEN; do
  mount -t tmpfs -o mode=755 tmpfs "$path"
done
unset HIDDEN
mount -t tmpfs -o mode=1777 tmpfs /var/tmp
mount -t tmpfs -o mode=1777 tmpfs /dev/shm
mount -t tmpfs -o mode=700,size=1g tmpfs /run/home
chown 2000:2000 /run/trainer
mount --bind "$folder/passwd" /etc/passwd
mount --bind "$folder/shadow" /etc/shadow

# A shell's background processes would ignore these signals, and so would everything that sshd starts.
env --default-signal=INT,QUIT "$(command -v sshd || echo /usr/sbin/sshd)" -D -e -f "$folder/sshd_config" 2>>"$folder/sshd.log" &
# While it waits for one child that never ends, this shell reaps all that come to it.
sleep infinity &
wait $!
