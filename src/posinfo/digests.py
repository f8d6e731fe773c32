"""What each job wrote, by sha256: in the format of ``sha256sum``, so that anyone can check it."""

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path

from posinfo.errors import InputError
from posinfo.tidy import write_atomically


def sha256(path: str | Path) -> str:
    """The sha256 of a file, in hexadecimal."""
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def record(outputs: Iterable[str | Path], digest_file: str | Path) -> None:
    """Write the digests of a job's outputs."""
    lines = [f"{sha256(path)}  {path}\n" for path in sorted(map(str, outputs))]
    write_atomically(digest_file, "".join(lines))


def recorded(digest_file: str | Path) -> dict[str, str]:
    """Read a digest file: path to sha256.

    Raises
    ------
    InputError
        If it is missing, or a line is not a digest, two spaces and a path.
    """
    try:
        text = Path(digest_file).read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(str(digest_file), f"cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(str(digest_file), f"cannot be read: {error}") from error
    digests = {}
    for number, line in enumerate(text.splitlines(), start=1):
        digest, separator, path = line.partition("  ")
        if not separator or len(digest) != 64 or not path:
            raise InputError(
                f"{digest_file} line {number}", f"is not a sha256 and a path: {line[:80]!r}"
            )
        digests[path] = digest
    if not digests:
        raise InputError(str(digest_file), "is empty, so it vouches for no file")
    return digests


def touched(files: Mapping[str, str], digest_file: str | Path = "") -> list[str]:
    """What differs between recorded digests and the files on disk, a line each.

    ``digest_file`` is named as where they were recorded: it may be what was touched.
    """
    where = f" in {digest_file}" if digest_file else ""
    problems = []
    for path, expected in files.items():
        if not Path(path).is_file():
            problems.append(f"{path}: recorded as {expected[:12]}{where}, but is gone{anew(path)}")
            continue
        found = sha256(path)
        if found != expected:
            what = "is empty" if Path(path).stat().st_size == 0 else f"is {found[:12]}"
            problems.append(
                f"{path}: was touched by hand, recorded as {expected[:12]}{where}, {what}"
                f"{anew(path)}"
            )
    return problems


def anew(path: str) -> str:
    """How a result is made anew, to be put behind what is wrong with it."""
    return f"; make it anew: snakemake --cores 4 --forcerun {path}"
