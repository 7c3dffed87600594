#!/bin/sh
# AWS: exits with 0 when this spot instance is about to be stopped, terminated or hibernated.
service=${METADATA_SERVICE:-http://169.254.169.254}/latest
ask() { curl --silent --fail --max-time 2 --noproxy '*' "$@"; }

token=$(ask --request PUT --header 'X-aws-ec2-metadata-token-ttl-seconds: 60' "$service/api/token") || exit 1
# 404 as long as there is no notice.
action=$(ask --header "X-aws-ec2-metadata-token: $token" "$service/meta-data/spot/instance-action") || exit 1
printf '%s\n' "$action" | tr -d '\n' | sed -n 's/.*"action": *"\([a-z]*\)".*/AWS: \1\n/p'
printf '%s\n' "$action" | tr -d '\n' | sed -n 's/.*"time": *"\([^"]*\)".*/deadline: \1\n/p'
