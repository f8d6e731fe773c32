"""Fetch a model's weights: weights/<model>/, and a list of the files with their digests."""

from pathlib import Path
from typing import TYPE_CHECKING

from posinfo.digests import sha256
from posinfo.job import job
from posinfo.pretrained.fetch import fetch
from posinfo.pretrained.sources import SOURCES
from posinfo.tidy import write_atomically

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

if __name__ == "__main__":
    with job(snakemake):
        listed = Path(snakemake.output.weights)
        files = fetch(SOURCES[snakemake.wildcards.model], listed.parent)
        write_atomically(listed, "".join(f"{sha256(path)}  {path.name}\n" for path in files))
