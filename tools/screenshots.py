"""Write the pictures of a report that the manual shows, docs/report-*.png, light and dark.

    python -m tools.screenshots

They are of two reports: of a network's gradient, and of the gradient of a fit to a differential equation. A Chromium
and Playwright are needed.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

import wengert as wg
from tests.report.browser import chromium
from wengert.report.data import ReportData
from wengert.report.page import page

DOCS = Path(__file__).parents[1] / "docs"
WIDTH = 1120
MOST_BYTES = 150_000


def loss(params: list[tuple[Any, Any]], x: Any, y: Any) -> Any:
    """The mean squared error of a network."""
    for w, b in params:
        x = np.tanh(x @ w + b)
    return np.mean((x - y) ** 2)


def pendulum(t: Any, state: Any, friction: Any) -> Any:
    angle, speed = state
    return np.stack([speed, -9.81 * np.sin(angle) - friction * speed])


def misfit(friction: Any, seen: Any) -> Any:
    """How far a pendulum with this friction is from what was seen."""
    start = np.array([1.0, 0.0])
    times = np.linspace(0, 4, len(seen))
    solution = wg.ode.solve_ivp(pendulum, (0.0, 4.0), start, args=(friction,), t_eval=times)
    return np.sum((solution.y[0] - seen) ** 2)


class Shot(NamedTuple):
    """A picture: of which report, of which view, and what is clicked before it is taken."""

    name: str
    of: str
    tab: str
    clicks: tuple[str, ...] = ()
    height: int = 600


SHOTS = (
    Shot("overview", "ode", "overview"),
    Shot("source", "network", "source", height=400),
    Shot("tape", "network", "tape", ("#panel-tape .step.backward >> nth=4",), 500),
    Shot("graph", "network", "graph", (".graph .box.step.forward >> nth=2",)),
    Shot("kernels", "ode", "kernels"),
    Shot("memory", "network", "memory"),
)


def reports() -> dict[str, str]:
    """The pages of the reports, by name."""
    rng = np.random.default_rng(0)
    sizes = [64, 64, 10]
    params = [(rng.normal(size=(m, n)), np.zeros(n)) for m, n in zip(sizes, sizes[1:], strict=False)]
    network = wg.explain(wg.grad(loss))(params, rng.normal(size=(256, 64)), rng.normal(size=(256, 10)))
    ode = wg.explain(wg.grad(misfit))(0.3, np.cos(np.linspace(0, 12, 20)))
    return {name: page(_from(name, found.report)) for name, found in (("network", network), ("ode", ode))}


def _from(name: str, report: ReportData) -> ReportData:
    """The report as of a file of this name: what folder this checkout stands in is nobody's concern."""
    return report._replace(files=tuple(file._replace(path=f"{name}.py") for file in report.files))


def main() -> None:
    path = chromium()
    if path is None:
        sys.exit("no Chromium is found: WENGERT_CHROMIUM names one")
    from playwright.sync_api import sync_playwright  # the manual's pictures alone need it

    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path)
        for of, text in reports().items():
            (Path(folder) / f"{of}.html").write_text(text, encoding="utf-8")
        for scheme in ("light", "dark"):
            view = browser.new_page(color_scheme=scheme)
            for shot in SHOTS:
                view.set_viewport_size({"width": WIDTH, "height": shot.height})
                view.goto("about:blank")
                view.goto((Path(folder) / f"{shot.of}.html").as_uri())
                view.click(f"#tab-{shot.tab}")
                for click in shot.clicks:
                    view.click(click)
                view.mouse.move(0, 0)
                file = DOCS / f"report-{shot.name}{'-dark' if scheme == 'dark' else ''}.png"
                size = len(view.screenshot(path=file, animations="disabled"))
                print(f"{file.name}: {size / 1000:.0f} kB")
                if size > MOST_BYTES:
                    sys.exit(f"{file.name} is larger than {MOST_BYTES / 1000:.0f} kB")
        browser.close()


if __name__ == "__main__":
    main()
