#!/bin/sh
# Google Cloud: exits with 0 when this instance is being preempted, or will be stopped for maintenance.
service=${METADATA_SERVICE:-http://metadata.google.internal}/computeMetadata/v1/instance
ask() { curl --silent --fail --max-time 2 --noproxy '*' --header Metadata-Flavor:Google "$service/$1"; }

if [ "$(ask preempted)" = TRUE ]; then
  echo 'GCP: preempted'
  echo 'deadline: 30'  # from the notice to the end, at most
elif [ "$(ask maintenance-event)" = TERMINATE_ON_HOST_MAINTENANCE ]; then
  echo 'GCP: maintenance of the host'
else
  exit 1
fi
