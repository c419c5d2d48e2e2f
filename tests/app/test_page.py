"""The page in a real browser."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from cli_support import Run, ok
from serving import SIBLINGS, TEACHER, Running, service_of, serving

from triplecheck.kg import KnowledgeBase

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
playwright = pytest.importorskip("playwright.sync_api", reason="Playwright's Python package is not installed")
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium (Debian: apt-get install chromium)"),
    pytest.mark.xdist_group("page"),
]
WIDE, PHONE = {"width": 1200, "height": 900}, {"width": 390, "height": 844}
HOSTILE = "<img src=x onerror=\"document.title='attacked'\">"
KEY = "a-key-of-more-than-sixteen-letters"


@pytest.fixture(scope="module")
def server(bundled: KnowledgeBase, kb: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("hostile")
    KnowledgeBase.from_triples([(HOSTILE, "made by", f"{HOSTILE} & co")], folder / "kb", encoder=None)
    bases = {"small": str(kb), "hostile": str(folder / "kb")}
    with serving(service_of(str(bundled.path), bases=bases)) as running:
        yield running


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as play:
        opened = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def page(browser: Any, request: pytest.FixtureRequest) -> Iterator[Any]:
    """A page, which must not complain."""
    context = browser.new_context(**getattr(request, "param", {"viewport": WIDE}))
    opened = context.new_page()
    opened.set_default_timeout(20_000)
    complaints: list[str] = []
    opened.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    yield opened
    context.close()
    # The browser itself writes a line for each reply that is not 200.
    assert [text for text in complaints if "Failed to load resource" not in text] == []


def address(server: Running, **query: str) -> str:
    return f"{server.url}/?{urlencode(query)}"


def answered(page: Any, columns: int = 1) -> Any:
    """The results, when all programs are done."""
    done = page.locator(".column[aria-busy=false]")
    done.nth(columns - 1).wait_for()
    return done


def drawn(page: Any) -> None:
    """Wait until the picture is drawn."""
    page.locator(".canvas canvas").first.wait_for()
    while not page.evaluate("document.querySelector('.canvas').graph?.elements(':visible').length"):
        page.wait_for_timeout(50)


def clicked(page: Any, label: str) -> Any:
    """Click a node of the picture; return the panel that shows it."""
    drawn(page)
    panel = page.get_by_role("complementary", name=f"Node {label}")
    for _ in range(50):
        place = page.evaluate(
            """label => { const canvas = document.querySelector(".canvas");
            canvas.scrollIntoView({ block: "center", behavior: "instant" });
            const box = canvas.getBoundingClientRect();
            const at = canvas.graph.nodes().filter(node => node.data("name") === label)[0].renderedPosition();
            return [box.x + at.x, box.y + at.y]; }""",
            label,
        )
        page.wait_for_timeout(100)  # Cytoscape hears of the scrolling later
        page.mouse.click(*place)
        page.wait_for_timeout(300)
        if panel.count():
            return panel
    raise AssertionError(f"a click on {label} shows nothing")


def test_a_question_is_answered_with_its_proof(page: Any, server: Running) -> None:
    page.goto(server.url)
    page.get_by_role("textbox", name="Ask the graph").fill(TEACHER)
    page.keyboard.press("Enter")
    column = answered(page)
    assert column.locator(".text").inner_text() == "German"
    assert column.locator(".badge").inner_text() == "proved"
    assert column.locator(".sure").inner_text().strip().endswith("% sure")
    assert column.locator(".triples li").all_inner_texts() == [
        "Bernhard Heiden —student of→ Paul Hindemith",
        "Paul Hindemith —nationality→ German",
    ]
    assert "Proved: Bernhard Heiden student of Paul Hindemith" in str(
        column.get_by_role("img").first.get_attribute("aria-label")
    )
    assert page.get_by_role("status").inner_text() == "Answer: German. Proved."
    trace = column.locator("details.progress")
    assert trace.get_attribute("open") is None
    trace.locator("summary").first.click()
    assert trace.locator(".steps > li").count() > 5
    roles = trace.get_by_role("list", name="Cost of each role").locator("li").all_inner_texts()
    assert len(roles) > 1
    assert all(re.match(r"[a-z]+: \d+ calls?, .+ s in models$", role) for role in roles)


def test_the_address_holds_the_question(page: Any, server: Running) -> None:
    page.goto(server.url)
    page.get_by_role("textbox").fill(SIBLINGS)
    page.get_by_role("button", name="Ask").click()
    assert answered(page).locator(".text").inner_text() == "Not in the graph, as far as I can tell"
    assert answered(page).locator("h2").first.inner_text() == "Nearest facts"
    assert urlencode({"q": SIBLINGS}) in page.url
    page.reload()
    assert answered(page).locator(".text").inner_text() == "Not in the graph, as far as I can tell"
    assert page.get_by_role("textbox").input_value() == SIBLINGS
    page.go_back()
    page.locator("#welcome").wait_for()
    assert page.locator(".column").count() == 0


def test_a_click_on_a_node_shows_neighbours_and_documents(page: Any, server: Running) -> None:
    page.goto(address(server, q=TEACHER, base="small"))
    answered(page)
    panel = clicked(page, "Paul Hindemith")
    assert "A composer and violist." in panel.inner_text()
    assert "← student of" in panel.inner_text()
    panel.get_by_role("button", name="Arnold Cooke").click()
    page.get_by_role("complementary", name="Node Arnold Cooke").wait_for()


def test_the_keyboard_is_enough(page: Any, server: Running) -> None:
    page.goto(address(server, q=TEACHER))
    column = answered(page)
    column.get_by_text("Nodes as a list").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.locator("aside.node:focus").wait_for()
    page.keyboard.press("Escape")
    assert page.locator("aside.node").is_hidden()
    assert page.evaluate("document.activeElement.classList.contains('chip')")


def test_parts_of_the_picture_can_be_hidden(page: Any, server: Running) -> None:
    page.goto(address(server, q=TEACHER))
    answered(page)
    drawn(page)
    count = "document.querySelector('.canvas').graph.edges(':visible').length"
    before = page.evaluate(count)
    page.get_by_label("Looked at").uncheck()
    assert page.evaluate(count) == 4 < before


OVERLAPS = """() => {
const graph = document.querySelector(".canvas").graph;
const box = (one, labels) => ({ text: one.data("label"), ...one.boundingBox(
  { includeNodes: !labels, includeEdges: false, includeLabels: labels, includeOverlays: false }) });
const labels = graph.edges(":visible").filter(edge => edge.style("label")).map(edge => box(edge, true));
const boxes = [...graph.nodes(":visible").map(node => box(node, false)), ...labels];
const shared = (one, two, axis) => Math.min(one[axis + 2], two[axis + 2]) - Math.max(one[axis + 1], two[axis + 1]);
const covers = (one, two) => one !== two && shared(one, two, "x") > 1 && shared(one, two, "y") > 1;
return labels.flatMap(one => boxes.filter(two => covers(one, two)).map(two => `${one.text} on ${two.text}`)); }"""


@pytest.mark.parametrize("page", [{"viewport": WIDE}, {"viewport": PHONE}], indirect=True, ids=["wide", "phone"])
def test_labels_cover_no_node_and_no_label(page: Any, server: Running) -> None:
    for question in (TEACHER, SIBLINGS, "What is the oldest album of The Beatles?"):
        page.goto(address(server, q=question))
        answered(page)
        drawn(page)
        assert page.evaluate(OVERLAPS) == []
        assert page.evaluate("document.querySelector('.canvas').graph.zoom()") > 0.8
        for box in page.locator(".legend input:enabled").all():
            box.check()
        assert page.evaluate(OVERLAPS) == []


@pytest.mark.parametrize("page", [{"viewport": PHONE}], indirect=True)
def test_a_label_without_room_is_read_at_its_node(page: Any, server: Running) -> None:
    page.goto(address(server, q=TEACHER))
    answered(page)
    drawn(page)
    hint = page.get_by_text("Some labels have no room")
    assert hint.is_hidden()
    page.get_by_label("Looked at").check()
    assert hint.is_visible()
    crowded = "document.querySelector('.canvas').graph.edges('.crowded:visible')[0]"
    assert page.evaluate(f"{crowded}.style('label')") == ""
    node = page.evaluate(f"{crowded}.source().data('name')")
    page.get_by_text("Nodes as a list").click()
    page.get_by_role("button", name=node).last.focus()
    assert page.evaluate(f"{crowded}.style('label') === {crowded}.data('label')")
    page.get_by_role("textbox").focus()
    assert page.evaluate(f"{crowded}.style('label')") == ""


def test_two_programs_are_compared(page: Any, server: Running) -> None:
    page.goto(server.url)
    page.get_by_label("Compare with").select_option("anchorrag")
    page.get_by_role("textbox").fill(TEACHER)
    page.get_by_role("button", name="Ask").click()
    columns = answered(page, 2)
    assert columns.locator("h2").all_inner_texts() == ["kerag", "anchorrag"]
    left, right = (columns.nth(at).bounding_box() for at in (0, 1))
    assert left["y"] == right["y"]
    assert left["x"] < right["x"]


def test_an_error_is_shown(page: Any, server: Running) -> None:
    page.goto(address(server, q="x" * 1_001))
    assert "at most 1,000 are allowed" in page.get_by_role("alert").inner_text()
    page.goto(address(server, q=TEACHER))
    answered(page)
    page.route("**/v1/ask", lambda route: route.abort())
    page.reload()
    assert "cannot be reached" in page.get_by_role("alert").inner_text()


def test_the_rest_interface_is_described(page: Any, server: Running) -> None:
    page.goto(f"{server.url}/docs")
    page.get_by_text("/v1/neighbours", exact=False).first.wait_for()


def test_labels_of_a_graph_stay_text(page: Any, server: Running) -> None:
    page.goto(address(server, q=f"What is {HOSTILE} made by?", base="hostile", program="bm25"))
    answered(page)
    page.goto(address(server, q=HOSTILE, base="hostile"))
    assert HOSTILE in answered(page).inner_text()
    assert page.title() != "attacked"
    assert page.locator("img[src=x]").count() == 0


def test_a_proof_is_a_page_without_a_server(page: Any, run: Run, kb: Path, tmp_path: Path) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    file = tmp_path / "proof.html"
    ok(run("ask", TEACHER, "--kb", kb, "--html", file))
    page.goto(file.as_uri())
    column = answered(page)
    assert column.locator(".text").inner_text() == "Germany"
    assert column.locator(".triples li").count() == 2
    assert "← student of" in clicked(page, "Paul Hindemith").inner_text()
    assert [url for url in asked if not url.startswith("data:")] == [file.as_uri()]


@pytest.mark.parametrize("page", [{"viewport": {"width": 360, "height": 740}, "has_touch": True}], indirect=True)
def test_a_phone_needs_no_scrolling_to_the_side(page: Any, server: Running) -> None:
    page.goto(address(server, q=TEACHER, **{"with": "anchorrag"}))
    columns = answered(page, 2)
    drawn(page)
    assert page.evaluate("document.scrollingElement.scrollWidth") == 360
    left, right = (columns.nth(at).bounding_box() for at in (0, 1))
    assert left["x"] == right["x"]
    clicked(page, "German")
    assert page.evaluate("document.scrollingElement.scrollWidth") == 360


@pytest.mark.parametrize(
    "page",
    [{"viewport": WIDE}, {"viewport": WIDE, "color_scheme": "dark"}, {"viewport": PHONE}],
    indirect=True,
    ids=["light", "dark", "phone"],
)
def test_axe_finds_nothing(page: Any, server: Running) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    violations: list[str] = []
    for query in ({}, {"q": TEACHER}, {"q": "How many pupils of Nadia Boulanger are listed?"}):
        page.goto(address(server, **query))
        if query:
            answered(page).get_by_text("Nodes as a list").click()
            page.get_by_role("button", name=re.compile("Heiden|Boulanger")).first.click()
            page.get_by_role("complementary").locator("dl").wait_for()
        else:
            page.get_by_text("2,774 entities").wait_for()
        found = axe.Axe().run(page).response["violations"]
        violations += [f"{one['id']}: {one['nodes'][0]['html']}" for one in found]
    assert violations == []


def test_a_key_is_asked_for_once(page: Any, bundled: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALICE", KEY)
    with serving(service_of(str(bundled.path), keys={"alice": {"key_env": "ALICE"}})) as locked:
        refused_late: list[Any] = []
        page.route("**/v1/programs?*", lambda route: refused_late.append(route), times=1)
        page.goto(address(locked, q=TEACHER))
        page.get_by_role("textbox", name="Key").fill(KEY)
        page.keyboard.press("Enter")
        refused_late[0].continue_()
        assert answered(page).locator(".text").inner_text() == "German"
        page.reload()
        assert answered(page).locator(".text").inner_text() == "German"
