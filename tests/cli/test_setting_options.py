"""``--set key=value``: what a value is read as."""

from typing import Any

import pytest

from discreet.cli.settings import read_settings


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (".05", 0.05),
        ("5.", 5.0),
        ("+2", 2.0),
        ("1e-3", 0.001),
        ("3", 3),
        ("true", True),
        ("auto", "auto"),
        ("1.2.3", "1.2.3"),
        ("nan", "nan"),
        ("", ""),
    ],
)
def test_numbers_are_numbers_as_people_write_them_and_the_rest_is_text(text: str, value: Any) -> None:
    read = read_settings([f"penalty={text}"])["penalty"]
    assert read == value
    assert type(read) is type(value)
