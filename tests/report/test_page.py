"""What the report must meet, in a real browser and under validators."""

import base64
import json
import re
import subprocess
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes

import pytest

from posinfo.baseline.accepted import page_ids

THEMES = ("light", "dark")


@pytest.mark.parametrize("theme", THEMES)
def test_no_accessibility_violation(page: Any, theme: str) -> None:
    found = page.seen["axe"][theme]
    assert found["violations"] == []
    # The engine did look: these rules apply to every page of this kind.
    assert {"color-contrast", "document-title", "html-has-lang", "link-name"} <= set(
        found["passed"]
    )


def test_no_error_of_the_html_checker(page: Any, java: str) -> None:
    assert errors_of_the_checker(page.path, java) == []


def errors_of_the_checker(path: Path, java: str) -> list[str]:
    """What the Nu HTML checker finds, with lines."""
    jar = Path(__file__).parent / "node_modules" / "vnu-jar" / "build" / "dist" / "vnu.jar"
    done = subprocess.run(
        [java, "-jar", jar, "--format", "json", "--stdout", "--exit-zero-always", path],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    messages = json.loads(done.stdout)["messages"]
    # It warns that the policy would block the style and the images: it does not know hashes.
    errors = [one for one in messages if one["type"] != "info"]
    return [f"{one['lastLine']}: {one['message']}" for one in errors]


def test_every_address_that_may_have_been_cited_is_still_there(real_page: Path, root: Path) -> None:
    accepted = (root / "baseline/results/page-ids.txt").read_text(encoding="utf-8").split()
    assert "verdicts" in accepted
    assert set(accepted) - set(page_ids(real_page.read_text(encoding="utf-8"))) == set()


def test_one_request_and_no_complaint(page: Any) -> None:
    assert page.seen["requests"] == [page.path.as_uri()]
    assert page.seen["errors"] == []


def test_same_text_without_javascript(page: Any) -> None:
    visible = page.seen["visible"]
    assert visible["with"] == visible["without"]
    assert "Positional Information, Verified" in visible["without"]


def test_no_sideways_scrolling(page: Any) -> None:
    widths = page.seen["widths"]
    # 640 px is what a window of 1280 px shows at 200 % zoom.
    assert {int(name.split()[0]) for name in widths} == {320, 640, 768, 1280}
    assert {name: found for name, found in widths.items() if found["sideways"]} == {}
    assert {name: found["outside"] for name, found in widths.items() if found["outside"]} == {}


def test_policy_is_strict_and_nothing_needs_more(page: Any) -> None:
    light = page.seen["light"]
    policy = dict(part.strip().split(" ", 1) for part in light["policy"].split(";"))
    assert policy.pop("style-src").startswith("'sha256-")
    assert policy == {
        "default-src": "'none'",
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    assert (light["scripts"], light["styled"], light["handlers"]) == (0, 0, 0)


def test_the_filter_works_without_javascript_and_hides_nothing_for_good(page: Any) -> None:
    found = page.seen["filter"]
    assert 0 < found["refuted"] < found["all"]
    assert (found["others"], found["empty"]) == (0, 0)
    assert found["told"]
    assert found["target"], found["hidden"]
    assert found["paper"] == found["reset"] == found["all"]
    assert found["both"] < found["all"]
    assert found["elsewhere"] == 0


def test_injected_script_does_not_run(page: Any) -> None:
    found = page.seen["injection"]
    assert found["there"] == 1
    assert found["marked"] is None
    assert found["title"] == page.seen["light"]["title"] == "Positional Information, Verified"
    assert found["coloured"] != "rgb(1, 2, 3)"
    refused = "\n".join(found["refused"])
    for what in ("inline script", "inline event handler", "inline style", "Loading the image"):
        assert what in refused


def test_style_is_applied_in_both_themes(page: Any) -> None:
    assert page.seen["light"]["background"] == "rgb(255, 255, 255)"
    assert page.seen["dark"]["background"] not in ("rgb(255, 255, 255)", "rgba(0, 0, 0, 0)")


def test_skip_link_and_visible_focus(page: Any) -> None:
    keyboard = page.seen["keyboard"]
    assert keyboard["href"] == "#main"
    assert keyboard["top"] >= 0
    assert keyboard["left"] >= 0
    assert keyboard["target"] == "main"
    assert keyboard["outline"]["style"] == "solid"
    assert keyboard["outline"]["width"] >= 2


def test_headings_form_an_outline(page: Any) -> None:
    levels = [heading["level"] for heading in page.seen["light"]["headings"]]
    assert levels[0] == 1
    assert levels.count(1) == 1
    for before, after in pairwise(levels):
        assert after <= before + 1
    assert all(heading["text"] for heading in page.seen["light"]["headings"])


def test_links_and_anchors_resolve(page: Any) -> None:
    light = page.seen["light"]
    assert light["dead"] == []
    assert light["repeated"] == []
    assert light["unlabelled"] == 0


def test_images_say_more_than_their_captions(page: Any) -> None:
    images = page.seen["light"]["images"]
    assert images
    for image in images:
        assert image["shown"]
        assert image["width"] > 0
        assert len(image["alt"]) > 20
        assert image["alt"] != image["caption"]
        assert image["alt"] not in image["caption"]
        if image["claim"]:  # a small one, beside a finding: its numbers stand in the claim
            assert image["claim"].removeprefix("#") in page.seen["light"]["ids"]
        else:
            assert image["text"]
            assert image["numbers"] > 0


def test_images_follow_the_theme(page: Any) -> None:
    """By what is seen: one drawing holds both themes; printed in dark mode it is light."""
    images = page.seen["light"]["images"]
    assert all(image["source"].startswith("data:image/svg+xml") for image in images)
    seen = {**page.seen["painted"], "paper": page.seen["paper"]["painted"]}
    assert {len(found) for found in seen.values()} == {len(images)}
    if page.name == "real":  # the hostile page draws one and the same square twice
        for one in [*seen["light"], *seen["paper"]]:  # on a light background of their own
            assert one["brightness"] > 200
            assert one["share"] > 0.99
        for one in seen["dark"]:  # light ink, on the page's own dark background
            assert one["brightness"] > 80
            assert 0 < one["share"] < 0.5


def test_tables_have_captions_scopes_and_boxes(page: Any) -> None:
    tables = page.seen["light"]["tables"]
    assert tables
    for table in tables:
        assert table["caption"]
        assert table["unscoped"] == 0, table
        assert table["heads"] > 0, table
        assert table["boxed"], table
    boxes = page.seen["light"]["boxes"]
    assert len(boxes) == len(set(boxes))


def test_downloads_equal_the_files(page: Any) -> None:
    files = sorted(page.results.glob("tables/*.csv")) + sorted(page.results.glob("figures/*.csv"))
    downloads = dict(page.seen["downloads"])
    verdicts = Path(downloads.pop("verdicts.csv")).read_text(encoding="utf-8").splitlines()
    assert verdicts[0] == "id,covers,kind,recorded,reproduced"
    assert len(verdicts) == 1 + sum(name.startswith("claim-") for name in page.seen["light"]["ids"])
    assert sorted(downloads) == sorted(path.name for path in files)
    for path in files:
        assert Path(downloads[path.name]).read_bytes() == path.read_bytes()


def test_permalinks_digests_and_citations(page: Any) -> None:
    ids, text = set(page.seen["light"]["ids"]), page.seen["light"]["text"]
    for kind in ("table", "figure"):
        for path in page.results.glob(f"{kind}s/*.csv"):
            if path.stem.startswith("finding-"):
                assert path.stem in ids
                continue
            assert f"{kind}-{path.stem}" in ids
            assert f"{kind} {path.stem}: " in text
            assert f"@misc{{posinfo-{kind}-{path.stem}, " in text
    claims = {name for name in ids if name.startswith("claim-")}
    assert set(re.findall(r"@misc\{posinfo-(claim-[\w-]+), ", text)) == claims
    assert "@misc{posinfo,\n" in text
    assert "@misc{posinfo-ledger,\n" in text
    assert any(name.startswith("claim-") for name in ids)
    for found in re.findall(r"results/(?:tables|figures)/[\w-]+\.csv, sha256 ([0-9a-f]{64})", text):
        assert found[:12] in text


def test_paper_shows_all_and_cuts_nothing(page: Any) -> None:
    paper = page.seen["paper"]
    assert paper["cut"] == []
    # Printed in dark mode: paper is white all the same.
    assert paper["background"] == "rgb(255, 255, 255)"
    # A figure's text, folded on screen, cannot be unfolded on paper.
    assert paper["equivalents"]
    assert all(paper["equivalents"])
    pdf = Path(page.seen["pdf"]).read_bytes()
    assert pdf.startswith(b"%PDF-")
    assert len(re.findall(rb"/Type\s*/Page\b", pdf)) >= 2


def test_page_is_small(page: Any) -> None:
    assert page.path.stat().st_size < 2_000_000


def test_hostile_text_is_text(page: Any, hostile: str) -> None:
    if page.name != "hostile":
        # A placeholder that nothing filled; BibTeX keeps a title's capitals by {{two braces}}.
        assert "{{ " not in page.seen["light"]["text"]
        return
    text = page.seen["light"]["text"]
    hostile = (
        "<script>document.title = 'owned'</script> \"'><img src=x onerror=alert(1)> & {{ 7*7 }}"
    )
    # Statement, reason, condition, sources, rows, captions, problems, units, cases: each as text.
    assert text.count(hostile) > 60
    # Rows that do not hold, and files that cannot be read, stand in the banner.
    assert "Not reproduced" in text
    assert "results/suites/lost.csv" in text


def test_every_figure_is_self_contained(page: Any) -> None:
    """An SVG in ``img`` loads nothing, but a reference would still leave a hole."""
    for image in page.seen["light"]["images"]:
        kind, _, content = image["source"].partition(",")
        encoded = kind.endswith(";base64")
        svg = (base64.b64decode(content) if encoded else unquote_to_bytes(content)).decode()
        assert svg.startswith("<svg")
        assert not re.search(r"(?:href|src)=\"(?:https?:|file:|//)", svg)
        assert "<script" not in svg


def test_page_of_a_model_meets_what_the_report_meets(
    model_page: Any, java: str, hostile: str
) -> None:
    seen = model_page.seen
    for theme in THEMES:
        assert seen["axe"][theme]["violations"] == []
        assert "color-contrast" in seen["axe"][theme]["passed"]
    assert errors_of_the_checker(model_page.path, java) == []
    # One request, for itself; a style that the policy refused would be a complaint.
    assert (len(seen["requests"]), seen["errors"]) == (1, [])
    assert {
        name: found
        for name, found in seen["widths"].items()
        if found["sideways"] or found["outside"]
    } == {}
    light = seen["light"]
    for name in ("scripts", "styled", "handlers", "unlabelled"):
        assert light[name] == 0, name
    assert (light["repeated"], light["dead"]) == ([], [])
    assert light["tables"]
    assert all(one["boxed"] and not one["unscoped"] for one in light["tables"])
    assert seen["keyboard"]["target"] == "main"
    assert hostile in light["text"]
