"""What jobs wrote, by sha256: anyone can check it, and every touch shows."""

import subprocess
from pathlib import Path

import pytest

from posinfo import digests
from posinfo.errors import InputError


@pytest.fixture(autouse=True)
def _in_a_run(tmp_path, monkeypatch):
    """A run's folder, with a space in its name; results are recorded relative to it."""
    folder = tmp_path / "a run"
    folder.mkdir()
    monkeypatch.chdir(folder)
    for name, content in (("b", b"second\n"), ("a", b"\x00\xff"), ("empty", b"")):
        Path(name).write_bytes(content)
    digests.record(["b", Path("a"), "empty"], "digests/job.sha256")


def test_sha256sum_accepts_them():
    done = subprocess.run(
        ["sha256sum", "--check", "--strict", "digests/job.sha256"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout == "a: OK\nb: OK\nempty: OK\n"


def test_sha256sum_notices_what_we_notice():
    Path("a").write_bytes(b"touched")
    done = subprocess.run(["sha256sum", "--check", "--status", "digests/job.sha256"], check=False)
    assert done.returncode == 1
    assert len(digests.touched(digests.recorded("digests/job.sha256"))) == 1


def test_the_order_of_the_outputs_does_not_show():
    before = Path("digests/job.sha256").read_bytes()
    digests.record(["empty", "a", "b"], "digests/job.sha256")
    assert Path("digests/job.sha256").read_bytes() == before


def test_nothing_differs_after_a_run():
    recorded = digests.recorded("digests/job.sha256")
    assert list(recorded) == ["a", "b", "empty"]
    assert digests.touched(recorded) == []


@pytest.mark.parametrize("content", [b"second", b"second\r\n", b"second\n\n"])
def test_a_touched_file_is_named_with_how_to_make_it_anew(content):
    Path("b").write_bytes(content)
    (line,) = digests.touched(digests.recorded("digests/job.sha256"))
    assert line.startswith("b: was touched by hand, recorded as ")
    assert line.endswith("; make it anew: snakemake --cores 4 --forcerun b")


def test_an_emptied_file_is_called_empty():
    Path("b").write_bytes(b"")
    (line,) = digests.touched(digests.recorded("digests/job.sha256"))
    assert "is empty" in line


@pytest.mark.parametrize("instead", ["nothing", "a folder"])
def test_a_file_that_is_gone_is_named(instead):
    Path("b").unlink()
    if instead == "a folder":
        Path("b").mkdir()
    (line,) = digests.touched(digests.recorded("digests/job.sha256"))
    assert line.startswith("b: recorded as ")
    assert "is gone; make it anew: snakemake --cores 4 --forcerun b" in line


@pytest.mark.parametrize(
    ("content", "number"),
    [
        ("text\n", 1),
        (f"{'0' * 64} a\n", 1),
        (f"{'0' * 63}  a\n", 1),
        (f"{'0' * 64}  a\n{'0' * 64}  \n", 2),
        (f"{'0' * 64}  a\n\n", 2),
    ],
)
def test_a_line_that_is_no_digest_is_refused(content, number):
    Path("wrong.sha256").write_text(content)
    with pytest.raises(InputError, match=rf"^wrong\.sha256 line {number}: is not a sha256 and a"):
        digests.recorded("wrong.sha256")


def test_a_digest_file_that_vouches_for_nothing_is_refused():
    """Emptied, it would let every touch of its job's results pass."""
    Path("wrong.sha256").write_text("")
    with pytest.raises(InputError, match=r"^wrong\.sha256"):
        digests.recorded("wrong.sha256")


def test_a_digest_file_that_cannot_be_read_is_refused():
    Path("wrong.sha256").write_bytes(b"\xff\n")
    for path in ("none.sha256", "wrong.sha256", "digests"):
        with pytest.raises(InputError, match="cannot be read"):
            digests.recorded(path)
