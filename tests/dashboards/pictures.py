"""Takes pictures of every page of recordings, in every theme, wide and narrow, to look at what people will see.

``python tests/dashboards/pictures.py RUNS FOLDER`` opens each ``.glr`` file of the folder RUNS (see `reference_runs.py`) in a
real browser and writes ``w1-status-dark-1400.png`` and so on to FOLDER, and a sheet of all pictures of a theme and width.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from browsing import chromium
from glassloom_dashboards.parts.theme import PALETTES
from glassloom_metrics.pages import PAGES
from PIL import Image
from real_process import dashboards

SIZES = {1400: 900, 700: 900}
"""The widths of windows, and how high they are."""
COLUMNS = 4
_SETTLED = """() => {
  const doc = window.Bokeh?.documents[0], model = name => doc?.get_model_by_name(name)
  return Boolean(doc?.is_idle && /recording</.test(model('strip').text) && model('glassloom-shown').tags[0] >= 1)
}"""
_IN_THEME = """([theme, colour]) => {
  const axes = [...Bokeh.documents[0].all_models].filter(model => /Axis$/.test(model.type))
  return document.documentElement.dataset.theme === theme && Bokeh.documents[0].is_idle &&
    (axes.length === 0 || axes.some(axis => axis.major_label_text_color === colour))
}"""
_SETTLE_MS = 400


def pictures(tab: Any, address: str, name: str, pages: list[str], themes: list[str]) -> Iterator[tuple[str, bytes]]:
    """Yield the name of each picture of one recording, and the picture."""
    for page in pages:
        for width, height in SIZES.items():
            tab.set_viewport_size({"width": width, "height": height})
            tab.goto(f"{address}/{page}?theme={themes[0]}")
            tab.wait_for_function(_SETTLED)
            for theme in themes:
                tab.evaluate("theme => window.postMessage({type: 'glassloom:theme', theme}, '*')", theme)
                tab.wait_for_function(_IN_THEME, arg=[theme, PALETTES[theme].muted_text])
                tab.wait_for_timeout(_SETTLE_MS)
                yield f"{name}-{page}-{theme}-{width}", tab.screenshot()


def write_sheet(paths: list[Path], target: Path, columns: int = COLUMNS) -> None:
    """Write many pictures into one, half as large."""
    images = [Image.open(path) for path in paths]
    width, height = (side // 2 for side in images[0].size)
    sheet = Image.new("RGB", (columns * width, -(-len(images) // columns) * height), "#888888")
    for place, image in enumerate(images):
        small = image.resize((width, height), Image.Resampling.LANCZOS)
        sheet.paste(small, (place % columns * width, place // columns * height))
    sheet.save(target)


def take(runs: Path, folder: Path, pages: list[str], themes: list[str]) -> list[Path]:
    """Write the pictures of all recordings, and return their paths."""
    recordings = sorted(runs.glob("*.glr"))
    arguments = [word for path in recordings for word in ("--recording", str(path))]
    taken = []
    with dashboards("--port", "0", *arguments) as process, chromium() as browser:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        tab = browser.new_page()
        tab.goto(url)
        base = tab.url.partition("/recording-")[0].rstrip("/")
        for path in recordings:
            tab.goto(base)
            page = tab.locator("li", has_text=f"({path.name})").locator("a").first.get_attribute("href")
            address = f"{base}{page.rpartition('/')[0]}"
            for name, picture in pictures(tab, address, path.stem, pages, themes):
                taken.append(folder / f"{name}.png")
                taken[-1].write_bytes(picture)
    return taken


def main() -> None:
    """Take the pictures that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path, help="a folder of recordings")
    parser.add_argument("folder", type=Path, help="of the pictures")
    parser.add_argument("--page", action="append", choices=[page.id for page in PAGES], help="all by default")
    parser.add_argument("--theme", action="append", choices=PALETTES, help="all by default")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    pages = options.page or [page.id for page in PAGES]
    taken = take(options.runs, options.folder, pages, options.theme or list(PALETTES))

    def kind(path: Path) -> str:
        return "-".join(path.stem.rsplit("-", 2)[1:])

    for name, paths in groupby(sorted(taken, key=kind), key=kind):
        write_sheet(list(paths), options.folder / f"sheet-{name}.png")
    sys.stdout.write(f"{len(taken)} pictures in {options.folder}\n")


if __name__ == "__main__":
    main()
