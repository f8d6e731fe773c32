"""The process that measures one configuration: ``python -m posinfo.rehearsal.worker FOLDER``.

It measures each suite that its folder has no file of, writes it whole, and so goes on where it was
stopped. It is the only place that measures without the profile, and it writes nowhere else.
"""

import importlib
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from posinfo import environment, numerics, runlock
from posinfo.rehearsal.plan import THREADS, Configuration, Machine
from posinfo.schemas import fields_by_name
from posinfo.tidy import json_text, write, write_atomically

#: What a folder holds: what is asked for, in what environment it was measured, and what was said.
REQUEST, ENVIRONMENT, LOG = "request.json", "environment.json", "log.txt"


def main(folder: Path) -> None:
    """Measure what the folder asks for.

    Raises
    ------
    SystemExit
        With a line, if the settings in effect are not those that are asked for: then nothing is
        measured.
    """
    runlock.end_with_run()
    request = json.loads((folder / REQUEST).read_text(encoding="utf-8"))
    configuration = Configuration(
        Machine(**request["machine"]), request["profile"], request["threads"]
    )
    torch = _torch(configuration)
    facts = _facts(torch, configuration, request)
    wrong = configuration.wrong(facts)
    if wrong:
        sys.exit(f"{configuration.name}: {'; '.join(wrong)}")
    write_atomically(folder / ENVIRONMENT, json_text(facts))
    fields = fields_by_name(request["schemas"].values())
    for suite, told in request["parameters"].items():
        path = folder / f"{suite}.csv"
        if path.exists():
            continue
        began = time.monotonic()
        module = importlib.import_module(f"posinfo.suites.{suite}")
        rows = module.SUITE.run(told, say=print)
        write(path, [row.record() for row in rows], fields[suite])
        print(f"done {suite}: {len(rows)} rows in {time.monotonic() - began:.0f} s", flush=True)


def _torch(configuration: Configuration) -> Any:
    """Import torch with the settings of the configuration, whose variables are set already."""
    if configuration.profile:
        variables = {name: os.environ[name] for name in THREADS}
        numerics.set_environment()
        os.environ.update(variables)
        torch = numerics.torch_with_profile()
    else:
        import torch
    torch.set_num_threads(configuration.threads)
    return torch


def _facts(torch: Any, configuration: Configuration, request: dict[str, Any]) -> dict[str, Any]:
    """What this process measures with. The kernel's word on the processor is not the emulator's."""
    facts = environment.measuring()
    variables = {name: os.environ[name] for name in numerics.ENVIRONMENT if name in os.environ}
    cpu = torch.cpu.get_capabilities()
    return {
        **facts,
        "configuration": configuration.columns,
        "emulator": request["emulator"] if configuration.machine.emulated else "",
        "cpu": {"model": cpu["cpu_name"], "avx2": cpu["avx2"], "avx512_f": cpu["avx512_f"]},
        "variables": variables,
    }


if __name__ == "__main__":
    main(Path(sys.argv[1]))
