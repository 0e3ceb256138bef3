"""The page of a report: what is in the file, and what a browser does with it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.report.browser import chromium
from tests.report.reports import long, small
from wengert.report.data import Advice, Cost, MemoryRow, ReportData
from wengert.report.page import SCRIPTS, fragment, packed, page

HOSTILE = '</script><img src=x onerror="window.hurt=1">\'`${window.hurt=1}{{title}}&amp;'


def unpacked(x: Any) -> Any:
    """Return what was packed, as html/packed.js does."""
    if isinstance(x, list) or not isinstance(x, dict):
        return x
    kind = x.get("$")
    if kind == "same":
        return [x["is"]] * x["n"]
    if kind == "words":
        return [x["of"][i] for i in x["at"]]
    if kind == "lists":
        elements, out = unpacked(x["of"]), []
        for n in unpacked(x["n"]):
            out.append(elements[:n])
            elements = elements[n:]
        return out
    if kind == "rows":
        columns = {field: unpacked(column) for field, column in x["of"].items()}
        return [{field: column[i] for field, column in columns.items()} for i in range(x["n"])]
    return {key: unpacked(y) for key, y in x.items()}


@pytest.mark.parametrize("report", [small(), small(HOSTILE), long(40)], ids=["small", "hostile", "long"])
def test_a_report_is_read_back_from_its_columns(report: ReportData) -> None:
    def plain(x: Any) -> Any:
        if hasattr(x, "_fields"):
            return {field: plain(y) for field, y in zip(x._fields, x, strict=True)}
        return [plain(y) for y in x] if isinstance(x, tuple) else float(f"{x:.5g}") if type(x) is float else x

    assert unpacked(json.loads(json.dumps(packed(report)))) == plain(report)


def test_infinite_and_missing_numbers_are_null() -> None:
    assert packed((Cost(float("inf"), float("nan"), 1), Cost())) == {
        "$": "rows",
        "n": 2,
        "of": {"time_s": [None, None], "flops": [None, 0.0], "moved_bytes": [1, 0]},
    }


def test_equal_numbers_of_other_types_stay_apart() -> None:
    assert packed((1, 1, 1, True)) == [1, 1, 1, True]
    assert packed((1, 1, 1, 1)) == {"$": "same", "n": 4, "is": 1}
    assert packed(("a", "b", "a", "a", "a")) == {"$": "words", "of": ["a", "b"], "at": [0, 1, 0, 0, 0]}


def test_the_file_needs_nothing_else() -> None:
    text = page(small())
    assert text.isascii() or text.encode()
    assert not re.search(r'(src|href)="|@import|url\((?!#)|https?://(?!www\.w3\.org)', text)
    assert "default-src 'none'" in text and "unsafe" not in text
    assert all(f"// ---- {name}.js" in text for name in SCRIPTS)


def test_names_in_a_report_are_no_markup() -> None:
    text = page(small(HOSTILE))
    assert text.count("<script") == 2 and text.count("</script>") == 2
    assert "<img" not in text.lower()
    assert re.search(r"<title>grad\(loss\)&lt;/script&gt;", text)


def test_a_long_report_is_short_enough() -> None:
    assert len(page(long(10_000)).encode()) < 5_000_000


def test_a_fragment_is_a_frame_with_the_page_in_it() -> None:
    text = fragment(small(HOSTILE), height=300)
    found = re.fullmatch(
        r'<iframe title="[^"]*" sandbox="allow-scripts" srcdoc="([^"]*)" style="[^"]*"></iframe>', text
    )
    assert found and unescape(found[1]) == page(small(HOSTILE))


# ------------------------------------------------------------------------------------------------------- in a browser


class Browser:
    """A page in the browser, and what went wrong in it."""

    def __init__(self, view: Any) -> None:
        self.view = view
        self.problems: list[str] = []
        view.set_default_timeout(10_000)
        view.on("console", lambda message: self.problems.append(message.text))
        view.on("pageerror", lambda error: self.problems.append(str(error)))
        view.on("request", lambda request: request.url.startswith("file:") or self.problems.append(request.url))

    def open(self, path: Path, width: int = 1280, height: int = 800, **media: str) -> None:
        self.view.set_viewport_size({"width": width, "height": height})
        self.view.emulate_media(
            **{"media": "screen", "color_scheme": "light", "reduced_motion": "no-preference"} | media
        )
        self.view.goto("about:blank")  # another fragment of an address alone loads nothing anew
        self.view.goto(path.as_uri())

    def tab(self, name: str) -> None:
        self.view.click(f"#tab-{name}")

    def text(self, where: str) -> str:
        return self.view.inner_text(where)

    def texts(self, where: str) -> list[str]:
        return self.view.locator(where).all_inner_texts()

    def count(self, where: str) -> int:
        return self.view.locator(where).count()

    def press(self, *keys: str) -> None:
        for key in keys:
            self.view.keyboard.press(key)

    def focused(self) -> str:
        """Return the role or the tag of what has the focus, and its name."""
        return self.view.evaluate(
            "(() => { const e = document.activeElement; return `${e.getAttribute('role') || e.tagName.toLowerCase()} "
            "${e.getAttribute('aria-label') || e.textContent.trim()}`; })()"
        )


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A page that all tests of this file use: to open another one takes longer than most of them."""
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    path = chromium()
    if path is None:
        pytest.skip("no Chromium is found: WENGERT_CHROMIUM names one")
    with playwright.sync_playwright() as p:
        chrome = p.chromium.launch(executable_path=path)
        yield Browser(chrome.new_page())
        chrome.close()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    texts = {"small": page(small()), "hostile": page(small(HOSTILE)), "frame": fragment(small())}
    for name, text in texts.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return {name: folder / f"{name}.html" for name in texts}


@pytest.fixture
def opened(browser: Browser, files: dict[str, Path]) -> Iterator[Callable[..., Browser]]:
    """A function that opens a page; at the end nothing may have gone wrong in it."""
    browser.problems.clear()

    def open_(name: str | Path = "small", **options: Any) -> Browser:
        browser.open(files[name] if isinstance(name, str) else name, **options)
        return browser

    yield open_
    assert browser.problems == []


TABS = ("overview", "source", "tape", "graph", "kernels", "memory", "values", "decisions")


def test_every_view_shows_itself(opened: Callable[..., Browser]) -> None:
    p = opened()
    assert "What to write instead" in p.text("#panel-overview") and "lookup runs in Python" in p.text("#panel-overview")
    assert "1 kernel of 12 calls Python back" in p.text("#panel-overview").replace("\xa0", " ")
    for name in TABS:
        p.tab(name)
        assert p.view.is_visible(f"#panel-{name}") and len(p.text(f"#panel-{name}")) > 20
        assert p.count("[role=tabpanel]:not([hidden])") == 1


def test_search_leaves_the_steps_that_match(opened: Callable[..., Browser]) -> None:
    p = opened()
    p.press("/")
    p.view.keyboard.type("tanh_vjp")
    assert p.text("#panel-tape [role=status]").replace("\xa0", " ") == "2 of 22 steps"
    assert p.count("#panel-tape .step") == 2
    p.view.fill("#search", "op:sum line:6")
    assert p.count("#panel-tape .step") == 1 and "v13" in p.text("#panel-tape .step")
    p.tab("kernels")
    assert p.text("#panel-kernels [role=status]").replace("\xa0", " ") == "1 of 12 kernels"
    p.press("Escape")
    assert p.text("#panel-kernels [role=status]").replace("\xa0", " ") == "12 kernels"


def test_the_tape_folds_and_unfolds(opened: Callable[..., Browser]) -> None:
    p = opened()
    p.tab("tape")
    assert p.count("#panel-tape .step") == 22
    p.view.click("#panel-tape .group >> nth=0")
    assert p.count("#panel-tape .step") == 9
    assert p.view.get_attribute("#panel-tape .group >> nth=0", "aria-expanded") == "false"
    p.view.click("text=Fold all")
    assert p.count("#panel-tape .step") == 0 and p.count("#panel-tape .group") == 2
    p.view.click("text=Unfold all")
    assert p.count("#panel-tape .step") == 22


def test_a_value_is_followed_to_its_maker_its_reader_and_its_cotangent(opened: Callable[..., Browser]) -> None:
    p = opened()
    p.tab("tape")
    p.view.click("#panel-tape .value >> text=v8 >> nth=0")
    selection = p.text(".inspector")
    assert "v8" in p.text(".inspector h2") and "tanh" in selection and "v9" in selection
    p.view.click(".inspector dd >> text=v22")
    assert "v22" in p.text(".inspector h2") and "Is the cotangent of" in p.text(".inspector")
    assert p.count("#panel-tape .chosen") == 1 and "v22" in p.text("#panel-tape .chosen")
    p.view.click(".inspector dd >> text=v8 >> nth=0")
    p.view.click(".inspector dd >> text=v7 >> nth=0")
    assert "v7" in p.text(".inspector h2")
    p.view.go_back()
    assert "v8" in p.text(".inspector h2")


def test_a_line_of_the_source_filters_everything(opened: Callable[..., Browser]) -> None:
    p = opened()
    p.tab("source")
    p.view.click("#panel-source .line >> nth=6")
    assert "line 7" in p.text(".chip") and "x = x * table" in p.text(".inspector")
    p.tab("tape")
    assert p.count("#panel-tape .step") == 2
    p.tab("kernels")
    assert p.count("#panel-kernels .rows .row") == 2
    p.tab("values")
    assert p.count("#panel-values .rows .row") == 2 + 0
    p.tab("memory")
    assert set(p.texts("#panel-memory .rows .place")) == {"line 7"}
    p.view.click(".chip")
    p.tab("tape")
    assert p.count("#panel-tape .step") == 22


def test_the_graph_folds_and_follows(opened: Callable[..., Browser]) -> None:
    p = opened()
    p.tab("graph")
    assert p.count(".graph .box.step") == 22 and p.count(".graph .box.argument") == 6
    assert p.count(".graph .edge.across") > 3
    p.view.click('.graph .box.group >> text="lookup"')
    assert p.count(".graph .box.step") == 21
    p.view.click(".graph .name >> text=v24")
    assert "v24" in p.text(".inspector h2") and p.count(".graph .box.chosen") == 1
    p.view.click(".inspector dd >> text=v7 >> nth=0")
    assert "v7" in p.view.text_content(".graph .box.chosen .name")
    p.view.click("text=Around the selection")
    assert 3 < p.count(".graph .box.step") < 22
    p.view.click("text=By line")
    p.view.click("#panel-graph >> text=Fold all")
    assert p.count(".graph .box.group") == 2 and p.count(".graph .box.step") == 0


def test_the_map_of_memory_tells_what_lies_under_the_pointer(opened: Callable[..., Browser]) -> None:
    p = opened()
    p.tab("memory")
    box = p.view.locator(".map").bounding_box()
    assert box is not None
    p.view.mouse.move(box["x"] + 80, box["y"] + box["height"] * 0.36)
    tip = p.text(".tip").replace("\xa0", " ")
    assert "v6" in tip and "matmul" in tip and "line 4" in tip and "32.8 kB" in tip and "kernel 0" in tip
    p.view.focus(".map")
    p.press("ArrowRight", "ArrowRight", "ArrowDown")
    assert "At kernel 8" in p.text("#panel-memory .toolbar") and p.view.is_visible(".tip")
    assert p.text(".spoken") != ""
    p.press("p")
    assert "At the peak, kernel 6" in p.text("#panel-memory .toolbar")


def test_everything_is_reached_by_keyboard(opened: Callable[..., Browser]) -> None:
    p = opened()
    p.press("Tab")
    assert p.focused().startswith("input Search")
    p.press("Tab", "Tab", "Tab")
    assert p.focused().startswith("tab Overview")
    p.press("ArrowRight", "ArrowRight")
    assert p.focused() == "tab Tape" and p.view.is_visible("#panel-tape")
    p.press("Tab", "Tab", "Tab")
    assert p.focused() == "tree Tape"
    p.press("Home", "ArrowDown", "ArrowDown", "ArrowDown")
    active = p.view.get_attribute("#panel-tape .list", "aria-activedescendant")
    assert "v7 =" in p.text(f"#{active}")
    p.press("Enter")
    assert "v7" in p.text(".inspector h2")
    p.press("c")
    assert "v24" in p.text(".inspector h2")
    p.press("m")
    assert "v22" in p.text(".inspector h2") and p.focused() == "tree Tape"
    p.press("ArrowLeft", "ArrowLeft")
    assert p.view.get_attribute("#panel-tape .group.active", "aria-expanded") == "false"
    p.press("ArrowRight")
    assert p.view.get_attribute("#panel-tape .group.active", "aria-expanded") == "true"
    p.press("?")
    assert p.view.is_visible("dialog")
    p.press("Escape")
    assert not p.view.is_visible("dialog")
    p.press("Escape")
    assert not p.view.is_visible(".inspector")
    p.press("/")
    assert p.focused().startswith("input Search")
    p.view.click("#tab-graph")
    p.view.focus(".graph")
    p.press("ArrowDown", "ArrowDown", "Enter", "+", "0", "Shift+ArrowLeft")
    assert p.count(".graph .box.active") == 1


CONTRASTS = """() => {
  const linear = (c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  const luminance = ([r, g, b]) => 0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255);
  const parse = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
  const low = new Set();
  for (const element of document.querySelectorAll("body *")) {
    const isText = [...element.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
    if (!isText || element instanceof SVGElement || !element.checkVisibility()) continue;
    let ground = [0, 0, 0, 0];
    for (let up = element; up; up = up.parentElement) {
      ground = parse(getComputedStyle(up).backgroundColor);
      if (ground.length === 3 || ground[3] === 1) break;
    }
    const lights = [luminance(parse(getComputedStyle(element).color)), luminance(ground)].sort((x, y) => y - x);
    const ratio = (lights[0] + 0.05) / (lights[1] + 0.05);
    if (ratio < 4.5) low.add(`${element.className} "${element.textContent.slice(0, 20)}" ${ratio.toFixed(2)}`);
  }
  return [...low];
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_in_light_and_in_dark(opened: Callable[..., Browser], scheme: str) -> None:
    p = opened(color_scheme=scheme, reduced_motion="reduce")
    ground = "getComputedStyle(document.body).backgroundColor"
    before = p.view.evaluate(ground)
    for name in TABS:
        p.tab(name)
        if name == "source":
            p.view.click("#panel-source .line >> nth=3")
        assert p.view.evaluate(CONTRASTS) == [], name
    p.view.click("#theme")
    assert p.view.evaluate(ground) != before
    p.view.click("#theme")  # what is chosen is remembered
    assert p.view.evaluate(ground) == before
    p.view.evaluate("localStorage.clear()")


RIGHT = """() => Math.max(document.documentElement.scrollWidth,
  ...[...document.querySelectorAll("main, .panel:not([hidden]), .panel:not([hidden]) > *")]
    .map((e) => e.getBoundingClientRect().right))"""


@pytest.mark.parametrize("width", [360, 2560])
def test_no_view_is_wider_than_the_window(opened: Callable[..., Browser], width: int) -> None:
    p = opened(width=width, height=740)
    for name in TABS:
        p.tab(name)
        assert p.view.evaluate(RIGHT) <= width + 0.5, name


def test_hostile_names_are_text(opened: Callable[..., Browser]) -> None:
    p = opened("hostile")
    for name in TABS:
        p.tab(name)
    p.view.click("#panel-decisions .link >> nth=0")
    p.press("Escape")
    p.tab("tape")
    p.view.click("#panel-tape .step >> nth=0")
    assert p.count("img") == 0 and p.count("script") == 2
    assert p.view.evaluate("window.hurt") is None
    assert "</script><img" in p.text("h1")


def test_a_report_of_nothing_says_so(opened: Callable[..., Browser], tmp_path: Path) -> None:
    path = tmp_path / "nothing.html"
    advice = (Advice("plain call", -1, 0, "The function runs as it is.", "Give it arrays."),)
    nothing = MemoryRow(0, 0, -1, ())
    path.write_text(page(ReportData("f", {}, Cost(), 0.0, (), (), (), (), (), nothing, (), (), (), advice)))
    p = opened(path)
    assert "Give it arrays." in p.text("#panel-overview")
    for name in TABS:
        p.tab(name)
        if name not in ("overview", "graph", "decisions"):
            assert re.search(r"Nothing|could not|no kernels|nothing", p.text(f"#panel-{name}")), name


def test_the_report_of_a_program_is_shown(opened: Callable[..., Browser], tmp_path: Path) -> None:
    def loss(w: Any, x: Any) -> Any:
        for _ in range(3):
            x = np.tanh(x @ w)
        if x[0] > 2:
            return np.sum(x)
        return np.mean(x**2)

    path = tmp_path / "loss.html"
    wg.explain(wg.grad(loss))(np.eye(8), np.ones(8)).save(path)
    p = opened(path)
    for name in TABS:
        p.tab(name)
    assert "x[0] > 2" in p.text("#panel-decisions")
    p.tab("tape")
    p.view.click("#panel-tape .step:has(b:text-is('tanh')) .value >> nth=0")
    p.view.click(".inspector dt:text-is('Its cotangent') + dd .link")
    assert "Is the cotangent of" in p.text(".inspector")


def test_a_frame_in_a_notebook_shows_the_page_and_changes_nothing_around_it(
    opened: Callable[..., Browser], files: dict[str, Path]
) -> None:
    p = opened("frame")
    inside = p.view.frame_locator("iframe")
    inside.locator("#tab-tape").click()
    inside.locator("#panel-tape .value").first.click()
    assert inside.locator(".inspector h2").inner_text() != ""
    inside.get_by_label("Back", exact=True).click()
    inside.locator("#theme").click()
    assert p.view.evaluate("document.styleSheets.length") == 0


def test_on_paper_all_views_stand_one_after_another(opened: Callable[..., Browser]) -> None:
    p = opened()
    p.view.evaluate("dispatchEvent(new Event('beforeprint'))")
    p.view.emulate_media(media="print")
    assert all(p.view.is_visible(f"#panel-{name}") for name in TABS if name != "graph")
    assert p.count("#panel-tape .step") == 22 and not p.view.is_visible("#search")
    p.view.evaluate("dispatchEvent(new Event('afterprint'))")
    p.view.emulate_media(media="screen")
    assert p.count("[role=tabpanel]:not([hidden])") == 1 and not p.view.is_visible("#panel-values")


@pytest.mark.deep("a program of ten thousand instructions in a browser")
def test_ten_thousand_instructions_stay_responsive(opened: Callable[..., Browser], tmp_path: Path) -> None:
    path = tmp_path / "long.html"
    path.write_text(page(long(10_000)), encoding="utf-8")
    p = opened(path)
    nodes = "document.querySelectorAll('*').length"
    took = {}

    def timed(what: str, script: str) -> None:
        took[what] = p.view.evaluate(
            f"(() => {{ const t = performance.now(); {script}; return performance.now() - t; }})()"
        )

    for name in TABS:
        timed(name, f"document.getElementById('tab-{name}').click()")
        assert p.view.evaluate(nodes) < 5000, name
    p.tab("tape")
    timed("unfold", "[...document.querySelectorAll('#panel-tape button')].at(-1).click()")
    assert p.count("#panel-tape .row") < 120
    search = "const s = document.getElementById('search'); s.value = '{}'; s.dispatchEvent(new Event('input'))"
    timed("first search", search.format("sin"))
    timed("search", search.format("exp"))
    assert p.count("#panel-tape .row") < 120 and "of 10,000" in p.text("#panel-tape [role=status]")
    timed("clear", search.format(""))
    timed("fold", "document.querySelector('#panel-tape .group').click()")
    timed("unfold one", "document.querySelector('#panel-tape .group').click()")
    p.view.click("#panel-tape .value >> nth=0")
    timed("follow", "document.querySelector('.inspector dd .link').click()")
    p.tab("graph")
    timed("unfold a box", "document.querySelector('.graph').focus()")
    p.press("Home")
    timed("follow in the graph", "document.querySelector('.inspector dd .link').click()")
    assert p.count(".graph .box") <= 500
    timed("around", "[...document.querySelectorAll('#panel-graph button')][2].click()")
    p.tab("kernels")
    timed("search kernels", search.format("matmul"))
    print({what: f"{ms:.0f} ms" for what, ms in took.items()})  # shown by pytest -s: figures, not a limit
