#!/usr/bin/python3
"""A stand-in for kubectl, whose pods are the nodes of a cluster (cluster.py). It understands kubectl's options and prints kubectl's messages.

$CLUSTER_PODS is a JSON file: {"context", "namespace", "pods": {NAME: {"init", "phase", "ip", "labels", "container", "deleted"}}}; `init` is a pid in
the namespaces of the node; 0: its container is not running. The object may have "fault": [stderr, exit code], the answer to any command.
"""

import json
import os
import subprocess
import sys
import threading

VALUES = {"-n": "namespace", "--namespace": "namespace", "-c": "container", "--container": "container", "--context": "context",
          "-l": "selector", "--selector": "selector", "-o": "output", "--output": "output", "--request-timeout": "timeout"}
FLAGS = {"-i": "stdin", "--stdin": "stdin"}
LISTING = ('jsonpath={range .items[*]}{.metadata.name}{" "}{.status.phase}{" "}{.status.podIP}{" "}'
           '{.metadata.deletionTimestamp}{"\\n"}{end}')
ENVIRONMENT = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "KUBERNETES_PORT": "tcp://10.96.0.1:443"}


def fail(text, code=1):
    sys.stderr.write(text + "\n")
    sys.exit(code)


def parse(words):
    """(options, plain words before --, words after it)."""
    options, plain = {}, []
    while words:
        word = words.pop(0)
        name, equals, value = word.partition("=")
        if word == "--":
            return options, plain, words
        if word in FLAGS:
            options[FLAGS[word]] = True
        elif name in VALUES and equals:
            options[VALUES[name]] = value
        elif word in VALUES:
            options[VALUES[word]] = words.pop(0)
        elif word.startswith("-"):
            fail(f"error: unknown flag: {word}")
        else:
            plain.append(word)
    return options, plain, []


def execute(cluster, options, plain, command):
    name = plain[0]
    pod = cluster["pods"].get(name)
    if pod is None or options.get("namespace", "default") != cluster["namespace"]:
        fail(f'Error from server (NotFound): pods "{name}" not found')
    if pod["phase"] in ("Succeeded", "Failed"):
        fail(f"error: cannot exec into a container in a completed pod; current phase is {pod['phase']}")
    if pod["phase"] == "Pending":
        fail(f"Error from server (BadRequest): pod {name} does not have a host assigned")
    container = options.get("container", pod["container"])
    if container != pod["container"]:
        fail(f"Error from server (BadRequest): container {container} is not valid for pod {name}")
    if not pod["init"]:
        fail(f'error: unable to upgrade connection: container not found ("{container}")')
    if not command:
        fail("error: you must specify at least one command for the container")
    inside = ["nsenter", "-t", str(pod["init"]), "-m", "-u", "-i", "-n", "-p", "--", "setsid", *command]
    # The command in the pod has its own pipes, and outlives this process.
    stdin = subprocess.PIPE if options.get("stdin") else subprocess.DEVNULL
    process = subprocess.Popen(inside, env=ENVIRONMENT, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if process.stdin:
        threading.Thread(target=copy, args=(0, process.stdin), daemon=True).start()
    copies = [threading.Thread(target=copy, args=(stream.fileno(), to)) for stream, to in ((process.stdout, sys.stdout.buffer), (process.stderr, sys.stderr.buffer))]
    for one in copies:
        one.start()
    for one in copies:
        one.join()
    code = process.wait()
    if code != 0:
        code = code if code > 0 else 128 - code
        fail(f"command terminated with exit code {code}", code)


def copy(source, to):
    """Copies until the end of `source`, then closes `to`."""
    try:
        while data := os.read(source, 1 << 16):
            to.write(data)
            to.flush()
    except BrokenPipeError:
        pass
    if to.fileno() > 2:
        to.close()


def get(cluster, options, plain):
    if plain != ["pods"] or options.get("output") != LISTING:
        fail(f"error: the stand-in does not know: get {plain} {options}")
    if options.get("namespace", "default") != cluster["namespace"]:
        return
    wanted = dict(one.split("=", 1) for one in options["selector"].split(","))
    for name, pod in sorted(cluster["pods"].items()):
        if wanted.items() <= pod["labels"].items():
            print(name, pod["phase"], pod["ip"], pod["deleted"])


def main():
    with open(os.environ["CLUSTER_PODS"], encoding="utf-8") as file:
        cluster = json.load(file)
    options, plain, command = parse(sys.argv[1:])
    if options.get("context", cluster["context"]) != cluster["context"]:
        fail(f"Error in configuration: context was not found for specified context: {options['context']}")
    if cluster.get("fault"):
        fail(*cluster["fault"])
    verb = plain.pop(0)
    if verb == "exec":
        execute(cluster, options, plain, command)
    elif verb == "get":
        get(cluster, options, plain)
    else:
        fail(f'error: unknown command "{verb}" for "kubectl"')


if __name__ == "__main__":
    main()
