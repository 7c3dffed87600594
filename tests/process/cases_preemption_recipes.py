"""The recipes of docs/how-to/survive-preemption.md, against a local server with the answers that the clouds document."""

import http.server
import os
import subprocess
import threading
import time

from case import case
from expectations import expect, expect_equal

RECIPES = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "examples", "preemption")

# learn.microsoft.com, "Azure Metadata Service: Scheduled Events for Linux VMs", "Event properties"
AZURE = """{
  "DocumentIncarnation": 2,
  "Events": [
    {"EventId": "C7061BAC-AFDC-4513-B24B-AA5F13A16123", "EventStatus": "Scheduled", "EventType": "Freeze",
     "ResourceType": "VirtualMachine", "Resources": ["gpu-vm_0"], "NotBefore": "Mon, 11 Apr 2022 22:26:58 GMT",
     "Description": "Virtual machine is being paused", "EventSource": "Platform", "DurationInSeconds": 5},
    {"EventId": "602d9444-d2cd-49c7-8624-8643e7171297", "EventStatus": "%s", "EventType": "%s",
     "ResourceType": "VirtualMachine", "Resources": ["gpu-vm_3", "%s"], "NotBefore": "%s",
     "Description": "", "EventSource": "Platform", "DurationInSeconds": -1}
  ]
}"""
AZURE_NAME = ("GET", "/metadata/instance/compute/name?api-version=2021-02-01&format=text")
AZURE_EVENTS = ("GET", "/metadata/scheduledevents?api-version=2020-07-01")
GCP = ("GET", "/computeMetadata/v1/instance/")
AWS_TOKEN = ("PUT", "/latest/api/token")
AWS_ACTION = ("GET", "/latest/meta-data/spot/instance-action")


class Service:
    """A server that answers from the table if the request has the header, and otherwise with 404."""

    def __init__(self, answers, header, value, slow=0):
        class Handler(http.server.BaseHTTPRequestHandler):
            def reply(handler):
                time.sleep(slow)
                needed = header if handler.command == "GET" else "X-aws-ec2-metadata-token-ttl-seconds"
                expected = value if handler.command == "GET" else "60"
                text = answers.get((handler.command, handler.path))
                code = 400 if handler.headers.get(needed) != expected else 404 if text is None else 200
                try:
                    handler.send_response(code)
                    handler.end_headers()
                    handler.wfile.write((text or "").encode())
                except OSError:  # the client did not wait
                    pass

            do_GET = do_PUT = reply

            def log_message(handler, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def ask(recipe, url):
    done = subprocess.run([os.path.join(RECIPES, recipe)], env={**os.environ, "METADATA_SERVICE": url}, capture_output=True,
                          text=True, timeout=30, check=False)
    return done.returncode, done.stdout


def azure(events, **more):
    return Service({AZURE_NAME: "gpu-vm_0", AZURE_EVENTS: events}, "Metadata", "true", **more)


def gcp(preempted, maintenance):
    return Service({(GCP[0], GCP[1] + "preempted"): preempted, (GCP[0], GCP[1] + "maintenance-event"): maintenance},
                   "Metadata-Flavor", "Google")


def aws(action):
    answers = {AWS_TOKEN: "AQAEAHtoken=="}
    if action:
        answers[AWS_ACTION] = action
    return Service(answers, "X-aws-ec2-metadata-token", "AQAEAHtoken==")


@case
def azure_tells_of_events_of_this_machine(_):
    with azure(AZURE % ("Scheduled", "Preempt", "gpu-vm_0", "Mon, 19 Sep 2016 18:29:47 GMT")) as url:
        expect_equal(ask("azure.sh", url), (0, "Azure: Preempt\ndeadline: 2016-09-19T18:29:47Z\n"), "a spot machine")
    with azure(AZURE % ("Started", "Redeploy", "gpu-vm_0", "")) as url:
        expect_equal(ask("azure.sh", url), (0, "Azure: Redeploy\n"), "an event that has begun")
    with azure(AZURE % ("Scheduled", "Preempt", "gpu-vm_01", "Mon, 19 Sep 2016 18:29:47 GMT")) as url:
        expect_equal(ask("azure.sh", url)[0], 1, "another machine's event, and a pause of this one")
    with azure('{"DocumentIncarnation":1,"Events":[]}') as url:
        expect_equal(ask("azure.sh", url)[0], 1, "no event")


@case
def gcp_tells_of_preemption_and_maintenance(_):
    with gcp("TRUE", "NONE") as url:
        expect_equal(ask("gcp.sh", url), (0, "GCP: preempted\ndeadline: 30\n"), "preempted")
    with gcp("FALSE", "TERMINATE_ON_HOST_MAINTENANCE") as url:
        expect_equal(ask("gcp.sh", url), (0, "GCP: maintenance of the host\n"), "maintenance")
    for maintenance in ("NONE", "MIGRATE_ON_HOST_MAINTENANCE"):
        with gcp("FALSE", maintenance) as url:
            expect_equal(ask("gcp.sh", url), (1, ""), maintenance)


@case
def aws_tells_of_an_interruption(_):
    with aws('{"action": "stop", "time": "2017-09-18T08:22:00Z"}') as url:
        expect_equal(ask("aws.sh", url), (0, "AWS: stop\ndeadline: 2017-09-18T08:22:00Z\n"), "a notice")
    with aws(None) as url:
        expect_equal(ask("aws.sh", url), (1, ""), "no notice")


@case
def a_missing_or_slow_service_is_no_notice(_):
    with aws(None) as url:
        pass  # nothing listens there any more
    for recipe in ("azure.sh", "gcp.sh", "aws.sh"):
        expect(ask(recipe, url)[0] != 0, f"{recipe} without a service")
    with azure("", slow=20) as url:
        for recipe in ("gcp.sh", "aws.sh"):
            expect(ask(recipe, url)[0] != 0, f"{recipe} with a slow service")
