"""arguments.py FOLDER WORD...: writes its words, and the variables whose names begin with CHECK_, to FOLDER/got-RANK, byte for byte."""

import os
import sys

with open(os.path.join(sys.argv[1], "got-" + os.environ["RANK"]), "wb") as file:
    for word in sys.argv[2:]:
        file.write(os.fsencode(word) + b"\0")
    for name in sorted(os.environb):
        if name.startswith(b"CHECK_"):
            file.write(name + b"=" + os.environb[name] + b"\0")
