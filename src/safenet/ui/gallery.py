"""The gallery of the page: a picture of every library problem, to click on."""

from __future__ import annotations

import base64
from collections.abc import Callable
from importlib import resources
from typing import Any

import panel as pn

from .. import listed

OWN = "your own"
SIZE = (95, 88)  # of a button, in pixels: its picture, and its name below
SHELF = {"max-height": "196px", "overflow-y": "auto", "border": "1px solid #e5e9ed", "border-radius": "6px"}
LOOK = """
.bk-btn { width: 100%; height: 100%; padding: 68px 0 0; border: 1px solid #d5dbe1; border-radius: 6px; overflow: hidden;
  background: #ffffff PICTURE center 2px / 89px 62px no-repeat; color: #1b1f24; font-size: 11px; line-height: 16px;
  white-space: nowrap; text-overflow: ellipsis; }
.bk-btn:focus-visible, .bk-btn:hover { outline: 3px solid #2563eb; outline-offset: -3px; }
"""


def _picture(name: str) -> str:
    """The thumbnail as CSS; nothing for a problem that has none."""
    file = resources.files(__package__) / "thumbnails" / f"{name}.png"
    if not file.is_file():
        return ""
    return f"url(data:image/png;base64,{base64.b64encode(file.read_bytes()).decode()})"


def gallery(chosen: Callable[[str], None]) -> Any:
    """A shelf of buttons; `chosen` is called with the name of the problem, or "" for the user's own."""
    titles = {"": "start from the heat equation"} | listed.titles(listed.problems())
    buttons = []
    for name, title in titles.items():
        button = pn.widgets.Button(
            label=name or OWN,
            description=title,
            width=SIZE[0],
            height=SIZE[1],
            margin=3,
            stylesheets=[LOOK.replace("PICTURE", _picture(name))],
        )
        button.on_click(lambda _, name=name: chosen(name))
        buttons.append(button)
    return pn.FlexBox(*buttons, sizing_mode="stretch_width", styles=SHELF)
