"""The page in a real browser: draw, image, Dice, undo, keyboard, noise, files; no errors on the console."""

import json
import re
from pathlib import Path

import pytest

import eitlens.web
from eitlens import Disk, Ellipse, Polygon, currents
from eitlens.measure import Measurement
from eitlens.phantom import files

STYLE = Path(eitlens.web.__file__).parent / "page" / "base.css"
WIDE, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}


@pytest.fixture
def page(browser, address):
    """The page on its first drawing, already imaged."""
    context = browser.new_context(viewport=WIDE, accept_downloads=True)
    opened = context.new_page()
    problems: list[str] = []
    opened.on("console", lambda m: problems.append(m.text) if m.type in ("error", "warning") else None)
    opened.on("pageerror", lambda error: problems.append(str(error)))
    opened.goto(address)
    _settled(opened)
    yield opened
    context.close()
    assert problems == []


def _settled(page):
    page.wait_for_selector(".result dd")
    page.wait_for_selector(".result.busy", state="detached")


def _dice(page, name="direct sampling"):
    return float(page.locator(f'.result[data-name="{name}"] dd').first.inner_text())


def _place(page, x, y):
    """Where (x, y) of the body is on the screen."""
    return page.evaluate(
        "([x, y]) => { const p = new DOMPoint(x, -y).matrixTransform(document.getElementById('board').getScreenCTM());"
        " return [p.x, p.y]; }",
        [x, y],
    )


def _drag(page, *points):
    page.mouse.move(*_place(page, *points[0]))
    page.mouse.down()
    for point in points[1:]:
        page.mouse.move(*_place(page, *point), steps=4)
    page.mouse.up()


def _shapes(page):
    return page.locator("#board .shape").evaluate_all(
        "all => all.map((one) => one.getAttribute('aria-label'))"
    )


def _places(page):
    """What the shapes are, and where."""
    return [", ".join(label.split(", ")[:2]) for label in _shapes(page)]


def test_draw_an_ellipse_and_see_the_dice(page):
    page.click("#clear")
    assert _shapes(page) == []
    _drag(page, (-0.7, -0.7), (-0.1, -0.3))
    _settled(page)
    assert _shapes(page) == ["Ellipse at -0.40, -0.50, 0.60 by 0.40, conductivity 10"]
    assert 0 < _dice(page) < 1
    assert page.locator('.result[data-name="tiny"] dd').count() == 3
    assert "Dice" in page.inner_text("#status")
    assert "boundary integral" in page.inner_text("#solver")


def test_shapes_are_sent_in_the_form_of_phantom_files(page):
    page.click('[data-tool="freehand"]')
    with page.expect_request(lambda request: request.url.endswith("/api/drawing")) as asked:
        _drag(page, (0.2, -0.7), (0.7, -0.7), (0.7, -0.3), (0.2, -0.3), (0.22, -0.7))
    phantom = files.from_dict({"shapes": asked.value.post_data_json["shapes"]})
    assert phantom.shapes[0] == Ellipse((0.4, 0.42), (0.34, 0.2), 0.6)
    assert [type(shape) for shape in phantom.shapes] == [Ellipse, Ellipse, Ellipse, Polygon]
    assert phantom.inside == (10.0,) * 4


def test_what_nobody_sees_cannot_be_lost(page):
    page.evaluate(
        """async () => {
          const { NoiseSearch } = await import('/js/ask/noise-search.js');
          await new NoiseSearch().start(async () => ({images: [], classical: {scores: {dice: 0}}}));
        }"""
    )
    assert page.inner_text("#verdict") == "Without noise nothing of it is seen either."


def test_move_scale_rotate_undo_redo_delete(page):
    page.click("#clear")
    _drag(page, (-0.3, -0.2), (0.3, 0.2))
    page.click('[data-tool="select"]')
    _drag(page, (0, 0), (0.4, 0.4))
    assert _places(page) == ["Ellipse at 0.40, 0.40"]
    _drag(page, (0.7, 0.4), (0.85, 0.4))
    _drag(page, (-0.19, 0.4), (0.4, -0.19))
    outline = page.locator("#board .shape").bounding_box()
    assert outline["height"] > 1.5 * outline["width"]
    for _ in range(3):
        page.click("#undo")
    assert _places(page) == ["Ellipse at 0.00, 0.00"]
    page.click("#redo")
    assert _places(page) == ["Ellipse at 0.40, 0.40"]
    page.locator("#board .shape").click()
    page.click("#delete")
    assert _shapes(page) == []
    _drag(page, (-0.1, -0.1), (0.1, 0.1))


def test_polygon_and_freehand(page):
    page.click("#clear")
    page.click('[data-tool="polygon"]')
    for x, y in [(-0.6, -0.6), (-0.1, -0.5), (-0.3, 0.0), (-0.6, -0.6)]:
        page.mouse.click(*_place(page, x, y))
    page.click('[data-tool="freehand"]')
    _drag(page, (0.2, 0.2), (0.6, 0.2), (0.6, 0.6), (0.2, 0.6), (0.22, 0.2))
    _settled(page)
    kinds = [label.split(" at ")[0] for label in _shapes(page)]
    assert kinds[0] == "Polygon with 3 corners"
    assert re.fullmatch(r"Polygon with [4-9] corners", kinds[1])
    assert "grid" in page.inner_text("#solver")


@pytest.mark.parametrize(
    ("stroke", "corners"),
    [
        ([[0, 0], [0.5, 0], [0.5, 0.5], [0, 0.5], [0.02, 0]], 4),  # ends on its own first edge
        ([[0, 0], [0.6, 0], [0.6, 0.6], [0.1, 0.6], [0.1, -0.1]], 4),  # a tail beyond it
        ([[-0.5, 0], [0.5, 0.4], [0.5, -0.4], [-0.5, 0.1]], 3),  # a knot
    ],
)
def test_strokes_become_simple_polygons(page, stroke, corners):
    found = page.evaluate("async (s) => (await import('/js/draw/polygons.js')).fromStroke(s)", stroke)
    assert len(found) == corners
    Polygon(found)


def test_by_keyboard_alone(page):
    page.click("#clear")
    page.focus("#board")
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowUp")
    assert _shapes(page) == ["Ellipse at 0.04, 0.04, 0.52 by 0.34, turned 29°, conductivity 10"]
    page.keyboard.press("]")
    page.keyboard.press("+")
    assert _shapes(page) == ["Ellipse at 0.04, 0.04, 0.56 by 0.37, turned 21°, conductivity 10"]
    assert page.inner_text("#said") == _shapes(page)[0]
    page.keyboard.press("Control+z")
    page.keyboard.press("2")
    _settled(page)
    assert page.locator("#curves path").count() == 2
    page.keyboard.press("Tab")
    page.focus("#board .shape")
    page.keyboard.press("Delete")
    assert _shapes(page) == []


def test_conductivity_and_currents(page):
    page.locator("#board .shape").first.click()
    page.locator("#sigma").fill("-1")
    _settled(page)
    assert _shapes(page)[0].endswith("conductivity 0.1")
    page.locator('[name="currents"][value="1"]').check(force=True)
    _settled(page)
    assert "currents" in page.inner_text('.result[data-name="tiny"] .flags')


def test_noise_until_it_breaks(page):
    page.click("#break")
    page.wait_for_selector("#verdict:text-matches('It breaks at|does not break up to')")
    page.wait_for_selector("#break:text('Add noise')")
    assert page.inner_text("#tau-value") == "0 %"  # where it was
    _settled(page)
    shown = page.locator('.result[data-name="tiny"] dd').first.inner_text()
    assert f"tiny: Dice {float(shown):.2f}" in page.inner_text("#status")
    page.click("#random")
    assert page.inner_text("#verdict") == ""


@pytest.mark.parametrize("what", ["clear", "open"])
def test_another_drawing_ends_the_search_for_noise(page, what, tmp_path):
    with page.expect_download() as saved:
        page.click("#save")
    saved.value.save_as(tmp_path / "measurement.json")
    page.click("#break")
    page.wait_for_selector("#verdict:has-text('Dice')")
    if what == "clear":
        page.click("#clear")
        page.wait_for_selector("#break:text('Add noise')")
        assert page.locator(".result").count() == 0
        assert page.inner_text("#status") == "The body is empty: draw something in it."
        page.click("#undo")
    else:
        page.set_input_files("#file", tmp_path / "measurement.json")
        page.wait_for_selector("#solver:text('measurement.json')")
        page.wait_for_selector("#break:text('Add noise')")
    _settled(page)
    assert not page.locator("#banner").is_visible()
    assert page.inner_text("#tau-value") == "0 %"


SEARCH = """async ([noisiest, dices]) => {
  const { NoiseSearch } = await import('/js/ask/noise-search.js'), asked = [];
  const network = noisiest && { name: 'net', noisiest };
  await new NoiseSearch().start(async (tau) => {
    asked.push(tau);
    return {images: [{scores: {dice: dices[Math.min(asked.length, dices.length) - 1]}}], classical: {}};
  }, network);
  return [asked, document.getElementById('verdict').textContent];
}"""


def test_the_search_ends_with_the_noise_that_the_network_knows(page):
    asked, verdict = page.evaluate(SEARCH, [0.25, [0.9]])
    assert asked[-1] == max(asked) == 0.25
    assert "does not break up to τ = 25 %" in verdict
    assert "net was trained for" in verdict
    asked, verdict = page.evaluate(SEARCH, [0.25, [0.9, 0.9, 0.7]])
    assert len(asked) == 3
    assert f"It breaks at τ = {100 * asked[-1]:.2g} %: Dice 0.70, without noise 0.90" in verdict


def test_save_and_open_a_measurement(page, tmp_path):
    with page.expect_download() as saved:
        page.click("#save")
    path = tmp_path / "measurement.json"
    saved.value.save_as(path)
    assert {key: len(value) for key, value in json.loads(path.read_text()).items()} == {
        "points": 800, "currents": 3, "voltages": 3, "reference": 3,
    }  # fmt: skip
    page.set_input_files("#file", path)
    page.wait_for_selector("#solver:text('measurement.json')")
    _settled(page)
    assert page.locator('.result[data-name="tiny"] dd').first.inner_text() == "–"
    with page.expect_download() as picture:
        page.click("#picture")
    picture.value.save_as(tmp_path / "picture.png")
    assert (tmp_path / "picture.png").read_bytes()[:4] == b"\x89PNG"


def test_back_from_a_file_to_the_drawing(page, tmp_path):
    with page.expect_download() as saved:
        page.click("#save")
    saved.value.save_as(tmp_path / "measurement.json")
    page.set_input_files("#file", tmp_path / "measurement.json")
    page.wait_for_selector("#solver:text('measurement.json')")
    page.click("#back")
    page.wait_for_selector("#solver:text('solver')")
    assert 0 < _dice(page) < 1
    assert not page.locator("#back").is_visible()


def test_a_file_that_cannot_be_shown_leaves_no_picture(browser, address, tmp_path):
    page = browser.new_page()
    page.goto(address)
    _settled(page)
    disk = Disk(32)
    made = Measurement.of_difference(0.1 * currents.cosine(disk, 3), domain=disk)
    (tmp_path / "disk.json").write_text(json.dumps(made.to_dict()))
    page.set_input_files("#file", tmp_path / "disk.json")
    page.wait_for_selector("#banner:text('of a disk: choose Tank')")
    assert page.locator(".result").count() == 0
    assert "disk.json cannot be shown" in page.inner_text("#status")
    page.click("#again")
    _settled(page)
    assert not page.locator("#banner").is_visible()
    assert 0 < _dice(page) < 1
    page.close()


def test_the_body_without_shapes_says_so(page):
    page.click("#clear")
    assert page.inner_text("#status") == "The body is empty: draw something in it."
    assert [page.inner_text(f"#{name}") for name in ("solver", "curve-note")] == ["", ""]
    page.click("#undo")
    _settled(page)
    assert len(_shapes(page)) == 3


def test_a_busy_server_is_asked_again(browser, address):
    page = browser.new_page()
    refusals = iter([{"status": 503, "headers": {"Retry-After": "1"}, "json": {"reason": "too many people"}}])

    def answer(route):
        refusal = next(refusals, None)
        route.fulfill(**refusal) if refusal else route.continue_()

    page.route("**/api/drawing", answer)
    page.goto(address)
    page.wait_for_selector("#banner:text('too many people')")
    _settled(page)
    assert not page.locator("#banner").is_visible()
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_phone_nothing_is_cut_off(browser, address, scheme):
    context = browser.new_context(viewport=PHONE, color_scheme=scheme, has_touch=True, is_mobile=True)
    page = context.new_page()
    page.goto(address)
    _settled(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert background == {"light": "rgb(244, 245, 248)", "dark": "rgb(14, 16, 21)"}[scheme]
    assert small_targets(page) == []
    box = page.locator("#peek canvas").first.bounding_box()  # the image is in sight beside the board
    assert box["y"] + box["height"] <= PHONE["height"]
    context.close()


def small_targets(page):
    """What a finger would miss: controls smaller than 44 pixels."""
    return page.evaluate(
        """() => [...document.querySelectorAll('button, select, input[type="range"], .segmented span, .chip span')]
        .map((one) => [one, one.getBoundingClientRect()])
        .filter(([, box]) => box.width && (box.width < 44 || box.height < 44))
        .map(([one, box]) => `${one.id || one.textContent} ${box.width} ${box.height}`)"""
    )


def test_the_legend_of_the_curves_is_whole(page):
    page.set_viewport_size({"width": 1330, "height": 900})
    assert page.evaluate(
        "[...document.querySelectorAll('#curve-note span')].every((one) => one.getBoundingClientRect().right <="
        " document.querySelector('#curve-note').closest('.card').getBoundingClientRect().right - 8)"
    )


def test_everything_has_a_name_for_a_screen_reader(page):
    nameless = page.evaluate(
        "[...document.querySelectorAll('button, input, select, canvas, svg[role], [tabindex]')].filter((e) =>"
        " !e.closest('[aria-hidden]') && !(e.getAttribute('aria-label') || e.labels?.length || e.textContent.trim()))"
        ".map((e) => e.outerHTML)"
    )
    assert nameless == []
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map((e) => e.id)")
    assert len(ids) == len(set(ids))


def test_all_controls_are_in_sight_on_a_laptop(page):
    page.set_viewport_size({"width": 1440, "height": 900})
    lowest = page.locator("#break").bounding_box()
    assert lowest["y"] + lowest["height"] < 900


def test_curves_differ_in_more_than_colour(page):
    dashes = page.locator("#curves path").evaluate_all(
        "all => all.map((one) => getComputedStyle(one).strokeDasharray)"
    )
    assert len(set(dashes)) == len(dashes) == 3


def _luminance(colour):
    """Relative luminance, as WCAG 2 defines it."""
    digits = colour[1:] if len(colour) == 7 else "".join(2 * c for c in colour[1:])
    parts = [int(digits[k : k + 2], 16) / 255 for k in (0, 2, 4)]
    linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize(
    ("text", "ground", "least"),
    [
        *((name, "card", 4.5) for name in ("ink", "soft", "accent", "curve-1", "curve-2", "curve-3")),
        *(("soft", "page", 4.5), ("accent-ink", "accent", 4.5), ("warn", "warn-page", 4.5)),
        *(("warm", "body", 3.0), ("cool", "body", 3.0)),  # shapes, not text
    ],
)
def test_contrast(text, ground, least):
    """WCAG 2, level AA, light and dark."""
    found = dict(re.findall(r"--([\w-]+): light-dark\((.+?)\);", STYLE.read_text()))
    for one, other in zip(*(found[name].split(", ") for name in (text, ground)), strict=True):
        dark, light = sorted(map(_luminance, (one, other)))
        assert (light + 0.05) / (dark + 0.05) >= least
