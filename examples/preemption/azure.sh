#!/bin/sh
# Azure: exits with 0 when a scheduled event takes this virtual machine away.
# The service lists events of the whole scale set or availability set, by the names of machines.
service=${METADATA_SERVICE:-http://169.254.169.254}/metadata
ask() { curl --silent --fail --max-time 5 --noproxy '*' --header Metadata:true "$service/$1"; }

name=$(ask 'instance/compute/name?api-version=2021-02-01&format=text') || exit 1
# One event a line: EventType, Resources, NotBefore (empty once it has begun).
events=$(ask 'scheduledevents?api-version=2020-07-01' | tr -d '\n' | sed 's/"EventId"/\n&/g') || exit 1
event=$(printf '%s\n' "$events" | grep -E '"EventType": *"(Preempt|Terminate|Reboot|Redeploy)"' |
        grep -F "\"$name\"" | head -n 1)
[ -n "$event" ] || exit 1
printf '%s\n' "$event" | sed 's/.*"EventType": *"\([A-Za-z]*\)".*/Azure: \1/'
before=$(printf '%s\n' "$event" | sed -n 's/.*"NotBefore": *"\([^"]*\)".*/\1/p')
[ -z "$before" ] || echo "deadline: $(date -u -d "$before" +%Y-%m-%dT%H:%M:%SZ)"
