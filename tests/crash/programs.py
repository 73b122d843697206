"""Programs that do what FAULT tells them: decoders, a metric and the library of a parser."""

import atexit
import subprocess
import sys
import time
from pathlib import Path

DECODER = f"""#!{sys.executable} -SE
import os, sys, time
fault = os.environ.get("FAULT")
words = sys.argv[1:]
shows = "-show-weights" in words
while fault == "flood" and not shows or fault == "shown-flood" and shows:
    os.write(1, b"a" * 65536)
while fault == "lines":
    os.write(1, b"a\\n" * 32768)
if shows:
    print("F0= 0.5\\nF1= -1" + " 2" * (fault == "shown-width"))
    sys.exit()
if fault == "silent":
    sys.exit()
name = words[words.index("-n-best-list") + 1]
with open("list", "rb") as given:
    rows = given.readlines()
if fault == "width":
    rows[-1] = rows[-1].replace(b"F1=", b"F1= 7")
if fault in ("die", "killed", "hang", "stuck", "short"):
    rows = rows[: len(rows) // 2]
with open(name, "wb") as out:
    out.writelines(rows)
    while fault == "list-flood":
        out.writelines(rows)
        time.sleep(0.001)
if fault == "die":
    sys.exit("the table is\\r\\ngone")
if fault == "killed":
    os.kill(os.getpid(), 9)
if fault in ("hang", "stuck"):
    time.sleep(1000)
"""
# Nobody waits until one that hangs is ended, but for one that is stuck.
# The last one comes before a run's first weights, which a run of tune then keeps.
DECODER_FAULTS = (
    "die", "killed", "hang", "stuck", "flood", "lines", "list-flood", "width", "short", "silent",
    "shown-flood", "shown-width",
)  # fmt: skip

ANSWERER = f"""#!{sys.executable} -SE
import json, os, sys, time
fault = os.environ.get("FAULT")
for request in sys.stdin:
    asked = json.loads(request)
    while fault == "flood":
        os.write(1, b"a" * 65536)
    for n, line in enumerate(asked["sources"]):
        if n == 2 and fault == "die":
            sys.exit("the table is\\r\\ngone")
        if n == 2 and fault == "killed":
            os.kill(os.getpid(), 9)
        if n == 2 and fault in ("hang", "stuck"):
            time.sleep(1000)
        if n == 2 and fault == "order":
            n = 3
        if n == 2 and fault == "short":
            break
        found = []
        for at in range(4):
            words = line.split()[at // 2:] + ["a"] * (at % 2)
            features = {{"lm": -1.0 * at, "am": len(words) / 4}}
            if n == 2 and fault == "width":
                del features["am"]
            found.append({{"text": " ".join(words), "features": features}})
        print(json.dumps({{"id": n, "hypotheses": found}}))
    sys.stdout.flush()
"""
ANSWERER_FAULTS = ("die", "killed", "hang", "stuck", "flood", "width", "short", "order")

METRIC = """\
import os, sys, time
fault = os.environ.get("FAULT")
for number, line in enumerate(sys.stdin):
    if number == 7 and fault == "die":
        sys.exit("no more")
    if number == 7 and fault == "killed":
        os.kill(os.getpid(), 9)
    if number == 7 and fault == "hang":
        time.sleep(1000)
    while number == 7 and fault in ("flood", "lines"):
        os.write(1, b"1" * 65536 if fault == "flood" else b"1\\n" * 32768)
    fields = line.rstrip("\\n").split(" |||")
    if fields[0] == "SCORE":
        found, *references = [set(text.split()) for text in fields[:0:-1]]
        best = max(len(found & reference) for reference in references)
        print(best, len(found), *[3] * (number == 7 and fault == "width"), flush=True)
    else:
        match, size = map(float, fields[1].split())
        print("nan" if fault == "nan" else match / max(size, 1), flush=True)
"""
METRIC_FAULTS = ("die", "killed", "hang", "flood", "lines", "width", "nan")

PARSER = """\
import os, sys, time
if os.environ.get("FAULT") and "portmert.extensions.parsers._workers" in sys.orig_argv:
    from ufal import udpipe
    real = udpipe.Model

    class Model:
        DEFAULT = real.DEFAULT

        def __init__(self, model):
            self.parse, self.given = model.parse, model

        @classmethod
        def load(cls, path):
            match os.environ["FAULT"]:
                case "load-die":
                    os.abort()
                case "load-hang":
                    time.sleep(1000)
            return cls(real.load(path))

        def tag(self, sentence, *rest):
            match os.environ["FAULT"]:
                case "die":
                    os.abort()
                case "hang":
                    time.sleep(1000)
                case "raise":
                    raise MemoryError
                case "width":
                    sentence.addWord("more")
            return self.given.tag(sentence, *rest)

    udpipe.Model = Model
"""
"""Python runs it at the start of a process that finds it as `sitecustomize`."""
PARSER_FAULTS = ("die", "hang", "raise", "width", "load-die", "load-hang")


def start_cluster(file: Path):
    """Start a scheduler, whose address is then in `file`, and a worker, for as long as we run."""
    given = ("--scheduler-file", file, "--no-dashboard", "--host", "127.0.0.1")
    more = ("--nthreads", "1", "--no-nanny", "--local-directory", file.with_suffix(".work"))
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    for words in (("scheduler", "--port", "0", *given), ("worker", *given, *more)):
        dask = Path(sys.executable).parent / "dask"
        atexit.register(_end, subprocess.Popen((dask, *words), **quiet))
        while not file.exists():
            time.sleep(0.1)


def _end(process):
    process.terminate()
    process.wait()
