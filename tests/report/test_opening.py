"""The report opens no slower than nbconvert's page of the same content, in one browser and run."""

import importlib.util
from pathlib import Path


def test_the_report_opens_no_slower_than_nbconverts_page(
    real_page: Path, root: Path, chromium: str, node: str, tmp_path: Path
) -> None:
    """Opened in turns, as ``benchmarks/pages.py`` does for README.md; a time alone says nothing."""
    spec = importlib.util.spec_from_file_location("pages", root / "benchmarks/pages.py")
    pages = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(pages)
    theirs = pages.by_nbconvert(pages.browse("content", real_page), tmp_path / "notebook.html")
    assert theirs.stat().st_size > 1_000_000  # it has the same content
    taken = pages.opened({"ours": real_page, "theirs": theirs}, rounds=5)
    for by in taken["ours"]:
        assert len(taken["ours"][by]) == 5
        assert pages.ratio(taken["ours"][by], taken["theirs"][by]) <= 1, (by, taken)
