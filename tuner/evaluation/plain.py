"""Turns records into values of JSON's own types."""

from __future__ import annotations

import dataclasses
import math
from typing import Any


def plain(value: object) -> Any:
    """Return a value in JSON's own types; a number that is not finite is unknown."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)
        }
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    return value
