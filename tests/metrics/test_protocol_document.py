"""docs/metrics-protocol.md names everything that is in the protocol, with the right numbers."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest
from glassloom_metrics import protocol
from glassloom_metrics.message_base import MessageBase
from glassloom_metrics.protocol import (
    COLUMN_TYPECODES,
    DEVICE_LANE,
    PROTOCOL_VERSION,
    PUBLISH_LANE,
    SPILL_LANE,
    TRANSFER_LANE,
    Action,
    TaskEvents,
)
from glassloom_metrics.segments import MAGIC

TEXT = (Path(__file__).parents[2] / "docs" / "metrics-protocol.md").read_text()
STRUCTS = [
    value
    for value in vars(protocol).values()
    if isinstance(value, type) and issubclass(value, msgspec.Struct) and not value.__name__.startswith("_")
    if value is not MessageBase
]


def section(name: str) -> str:
    """Return what the page says of a message, from its name to the next heading."""
    found = re.search(rf"^(### )?`{name}`.*?(?=^#|\Z)", TEXT, re.MULTILINE | re.DOTALL)
    assert found, f"{name} is not in docs/metrics-protocol.md"
    return found[0]


@pytest.mark.parametrize("struct", STRUCTS, ids=lambda struct: struct.__name__)
def test_every_field_of_every_message_is_described(struct):
    words = section(struct.__name__)
    tag = struct.__struct_config__.tag
    if tag is not None:
        assert f'(`"{tag}"`)' in words
    described = {
        name for row in re.findall(r"^\| (`[^|]*`)", words, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)
    }
    assert set(struct.__struct_fields__) <= described


def test_the_page_speaks_of_all_messages():
    assert len(STRUCTS) == 28


@pytest.mark.parametrize("action", list(Action), ids=lambda action: action.name)
def test_every_action_has_its_number(action):
    assert f"| {int(action)} | `{action.name}` |" in TEXT


def test_columns_have_the_element_types_of_the_code():
    elements = {"I": "u32", "H": "u16", "B": "u8", "d": "f64", "f": "f32", "q": "i64"}
    rows = dict(re.findall(r"^\| (`[^|]*) \| (\w+)", section(TaskEvents.__name__), re.MULTILINE))
    written = {name: element for names, element in rows.items() for name in re.findall(r"`(\w+)`", names)}
    for name, code in COLUMN_TYPECODES.items():
        assert written[name] == elements[code]


def test_auxiliary_lanes_are_named():
    for lane in (PUBLISH_LANE, SPILL_LANE, TRANSFER_LANE, DEVICE_LANE):
        assert f"{lane} (0x{lane:X})" in TEXT


def test_the_version_and_the_first_bytes_of_recordings_are_right():
    assert f"Version **{PROTOCOL_VERSION}**" in TEXT
    assert MAGIC.startswith(b"glsloom") and MAGIC[7:] == bytes([PROTOCOL_VERSION])
    assert "`glsloom` and the version as one byte" in TEXT
