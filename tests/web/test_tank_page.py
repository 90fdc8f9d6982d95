"""Tanks in a real browser: draw, voltages, images, files, frames; phone, light and dark, keyboard alone."""

import json

import pytest
import torch
from test_page import PHONE, WIDE, _drag, _settled, _shapes, small_targets
from web_drawings import tank_drawing

import eitlens as eit
from eitlens.measure.simulation import simulated
from eitlens.web import tank
from eitlens.web.tank_schema import read_tank

PATIENT = 90_000  # milliseconds: the machine of the tests may be busy


def _box(method):
    return f'#methods input[value="{method}"]'


def _opened(browser, address, **how):
    context = browser.new_context(**({"viewport": WIDE} | how))
    page = context.new_page()
    page.set_default_timeout(PATIENT)
    page.goto(address)
    page.wait_for_selector("#models input")
    return page


def _into_the_tank(page):
    page.check('[name="mode"][value="tank"]', force=True)
    page.uncheck(_box("gauss-newton"), force=True)
    _settled(page)


@pytest.fixture
def page(browser, address):
    """The page on the first drawing of a tank, imaged by the network and GREIT."""
    opened = _opened(browser, address)
    problems = []
    opened.on("console", lambda m: problems.append(m.text) if m.type in ("error", "warning") else None)
    opened.on("pageerror", lambda error: problems.append(str(error)))
    _into_the_tank(opened)
    yield opened
    opened.context.close()
    assert problems == []


@pytest.fixture(scope="module")
def frames(tmp_path_factory):
    """Files of a tank in which a rod moves: three frames each, with the other sign in the second."""
    electrodes, pattern = tank.built(read_tank(json.dumps(tank_drawing()).encode()).tank)
    moving = [eit.Phantom([eit.circle((0.4 - 0.3 * k, 0.3), 0.25)], 10.0) for k in range(3)]
    values = simulated(electrodes, pattern, moving, 0.05, 70.0, rate=10).to_dict()
    folder = tmp_path_factory.mktemp("tank")
    (folder / "rod.json").write_text(json.dumps(values))
    for name in ("voltages", "reference"):
        values[name] = (-torch.tensor(values[name], dtype=torch.float64)).tolist()
    (folder / "flipped.json").write_text(json.dumps(values))
    return folder


def _open(page, path):
    """Open a file for the network alone: a new tank takes GREIT two seconds."""
    page.uncheck(_box("greit"), force=True)
    page.click("#open")
    page.set_input_files("#frames", path)
    page.click('#open-form button[type="submit"]')


def _titles(page):
    return page.locator(".result h3").all_inner_texts()


def test_draw_and_see_voltages_and_images(page):
    assert _titles(page) == ["Network", "GREIT"]
    assert page.locator("#board .electrode").count() == 16
    assert page.locator("#voltages rect").count() == 13
    page.click('[data-readings="voltages"]')
    assert (
        page.locator("#voltages circle.now").count() == page.locator("#voltages circle.empty").count() == 13
    )
    page.locator("#stimulation").fill("3")
    assert page.inner_text("#stimulation-value") == "current from 4 to 5"
    assert page.locator("#board .source").first.evaluate("(one) => one.parentNode.textContent") == "4"
    page.click("#clear")
    page.wait_for_selector("#status:text('The tank is empty')")
    assert page.locator(".result").count() == 0
    _drag(page, (-0.5, -0.4), (-0.1, 0))
    _settled(page)
    assert float(page.locator(".result dd").first.inner_text()) > 0.6
    assert "conducts better" in page.locator(".result canvas").first.get_attribute("aria-label")


def test_another_outline_takes_the_shapes_in(page):
    page.click('[data-tool="select"]')
    _drag(page, (0.38, 0.2), (0.38, 0.95))
    page.uncheck(_box("greit"), force=True)
    page.check(_box("dsm"), force=True)
    page.select_option("#tank-body", "ellipse")
    page.select_option("#tank-electrodes", "8")
    _settled(page)
    assert page.locator("#board .electrode").count() == 8
    assert "round tanks" in page.inner_text('.result[data-name="network"] .flags')
    assert page.locator('.result[data-name="dsm"] dd').count() == 3
    x, y = page.evaluate(
        "() => document.querySelector('#board .shape').getAttribute('aria-label').match(/[-\\d.]+/g).map(Number)"
    )[:2]
    assert (x**2 + (y / 0.7) ** 2) < 1
    assert not page.locator("#banner").is_visible()


def test_the_square_is_as_it_was_left(page):
    tank_shapes = _shapes(page)
    page.check('[name="mode"][value="square"]', force=True)
    page.wait_for_selector('.result[data-name="direct sampling"] dd')
    assert len(_shapes(page)) == 3
    assert page.locator("#break").is_visible()
    assert not page.locator("#tank-body").is_visible()
    page.check('[name="mode"][value="tank"]', force=True)
    page.wait_for_selector('.result[data-name="greit"] dd')
    assert _shapes(page) == tank_shapes


def test_open_a_file_and_see_what_the_inspection_says(page, frames):
    _open(page, frames / "flipped.json")
    page.wait_for_selector("#findings-list li:has-text('opposite sign')")
    _settled(page)
    assert page.inner_text("#solver") == "flipped.json"
    assert page.locator("#back").is_visible()
    page.click("#back")
    page.wait_for_selector("#solver:text('simulated')")
    assert not page.locator("#findings").is_visible()


def test_play_and_scrub_a_sequence(page, frames):
    _open(page, frames / "rod.json")
    page.wait_for_selector("#frame-value:text-is('frame 1 of 3, 0.00 s')")  # without: (… are there)
    assert page.is_visible("#findings-list li")
    first = page.locator(".result canvas").first.evaluate("(one) => one.toDataURL()")
    page.focus("#frame")
    page.keyboard.press("End")
    assert page.inner_text("#frame-value") == "frame 3 of 3, 0.20 s"
    assert page.locator(".result canvas").first.evaluate("(one) => one.toDataURL()") != first
    page.click("#play")
    page.wait_for_selector("#frame-value:text-is('frame 2 of 3, 0.10 s')")
    page.click('#play[aria-label="Pause"]')
    assert page.locator("#play").get_attribute("aria-label") == "Play"


def test_a_file_that_says_too_little_is_asked_about(browser, address, tmp_path):
    page = _opened(browser, address)
    _into_the_tank(page)
    (tmp_path / "numbers.txt").write_text(" ".join("1.0" for _ in range(208)) + "\n")
    _open(page, tmp_path / "numbers.txt")
    page.wait_for_selector("#open-reason:has-text('numbers instead of the names')")
    assert "--" not in page.inner_text("#open-reason")
    assert page.locator('[data-setup="pattern"]').is_visible()
    assert page.locator(".result").count() == 0
    page.keyboard.press("Escape")
    page.click("#random")
    _settled(page)
    page.context.close()


def test_by_keyboard_alone(page):
    page.focus('[name="mode"][value="tank"]')
    page.focus("#tank-electrodes")
    page.keyboard.press("ArrowUp")
    page.focus("#board")
    page.keyboard.press("Enter")
    for key in ("ArrowLeft", "]", "+"):
        page.keyboard.press(key)
    assert page.evaluate("document.activeElement.getAttribute('data-id')") is not None
    assert page.inner_text("#said") == _shapes(page)[-1]
    page.focus("#stimulation")
    page.keyboard.press("ArrowRight")
    assert page.inner_text("#stimulation-value") == "current from 2 to 3"
    _settled(page)
    assert page.locator("#board .electrode").count() == 12
    page.focus("#open")
    page.keyboard.press("Enter")
    assert page.locator("#open-dialog").is_visible()
    page.keyboard.press("Escape")
    assert not page.locator("#open-dialog").is_visible()
    with page.expect_download() as saved:
        page.focus("#save")
        page.keyboard.press("Enter")
    assert saved.value.suggested_filename == "tank.json"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_phone(browser, address, scheme):
    page = _opened(browser, address, viewport=PHONE, color_scheme=scheme, has_touch=True, is_mobile=True)
    _into_the_tank(page)
    page.evaluate("scrollTo(0, 0)")
    page.wait_for_selector("#peek canvas")
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    box = page.locator("#peek canvas").first.bounding_box()  # in sight beside the board
    assert box["y"] + box["height"] <= PHONE["height"]
    assert "Dice" in page.inner_text("#peek")
    assert small_targets(page) == []
    page.context.close()


def test_noise_and_controls_are_in_sight_on_a_laptop(page):
    page.set_viewport_size({"width": 1440, "height": 900})
    lowest = page.locator("#again-tank").bounding_box()
    assert lowest["y"] + lowest["height"] < 900
    page.locator("#snr").fill("-40")
    assert page.inner_text("#snr-value") == "1 % (40 dB)"
    _settled(page)
