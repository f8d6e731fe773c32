"""Runs many checks in one go: torch is imported once, and each check gets a copy of the process.

Reads a JSON object of requests by name, and prints the events of each by name.
"""

import json
import os
import sys
import tempfile

from posinfo import numerics

numerics.set_environment()
numerics.torch_with_profile()

from posinfo.battery import nearest  # noqa: E402
from posinfo.battery.rotary import Rotary  # noqa: E402
from posinfo.check import child  # noqa: E402

#: Copies at work side by side.
SIDE_BY_SIDE = 2


def answers(requests: dict[str, dict]) -> dict[str, list[dict]]:
    files, running = {}, []
    for name, request in requests.items():
        files[name] = tempfile.TemporaryFile()  # noqa: SIM115  (read below)
        pid = os.fork()
        if pid == 0:
            child.answer(request, files[name].fileno())
        running.append(pid)
        if len(running) == SIDE_BY_SIDE:
            os.waitpid(running.pop(0), 0)
    for pid in running:
        os.waitpid(pid, 0)
    found = {}
    for name, file in files.items():
        file.seek(0)
        found[name] = [json.loads(line) for line in file]
    return found


if __name__ == "__main__":
    # What the faults answer is the same for all, and is kept for the copies.
    for takes_base in (True, False):
        same = Rotary("same", lambda q, k, positions, base: (q, k), takes_base=takes_base)
        nearest.nearest_fault(same, ["near positions"])
    json.dump(answers(json.load(sys.stdin)), sys.stdout)
