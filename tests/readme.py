"""The code that README shows."""

from __future__ import annotations

import re
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"


def python_blocks() -> list[str]:
    """Each Python block, as text."""
    return re.findall(r"```python\n(.*?)```", README.read_text(), flags=re.DOTALL)
