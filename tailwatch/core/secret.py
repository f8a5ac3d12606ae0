"""A text that must never be shown: webhook URLs, signing keys."""

from __future__ import annotations


class Secret:
    """
    Holds a secret; every way of showing it gives a mask.

    >>> secret = Secret("https://hooks.example/T0/B0/x")
    >>> f"{secret} {secret!r} {[secret]}"
    '<secret> <secret> [<secret>]'
    """

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """The text itself. Only the module that sends the request calls this."""
        return self._text

    def __repr__(self) -> str:
        return "<secret>"

    __str__ = __repr__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._text == self._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __reduce__(self) -> str | tuple[object, ...]:
        raise TypeError("a secret is not to be pickled or copied out")
