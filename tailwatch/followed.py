"""Whether the daemon would follow a file, going by its path and the settings."""

from __future__ import annotations

import os
from dataclasses import dataclass

from .config import Settings
from .core.globs import PathFilter


@dataclass(frozen=True, slots=True)
class Followed:
    """
    How a path stands to `paths`, `include` and `exclude`.

    Attributes:
        root: The directory of `paths` that it is below or, without `paths`, the one that
            the patterns were tried from.
        relative: The path below it, which is what the patterns are tried on.
        named: It is itself in `paths`: then its name does not matter.
        outside: `paths` has directories, and it is below none of them.
        include: The pattern of `include` that matches it, if one does.
        exclude: The one of `exclude`.
        link: The symbolic link on the way from the root, if there is one.
    """

    root: str
    relative: str
    named: bool = False
    outside: bool = False
    include: str | None = None
    exclude: str | None = None
    link: str | None = None

    @property
    def yes(self) -> bool:
        """Whether the daemon looks at it at all."""
        if self.named:
            return True
        found = not self.outside and self.link is None
        return found and self.include is not None and self.exclude is None


def followed(path: str, root: str | None, settings: Settings) -> Followed:
    """Judge the file *path*, found by the caller below *root* or given by name (None)."""
    path = os.path.abspath(path)
    if path in map(os.path.abspath, settings.paths):
        return Followed(os.path.dirname(path), os.path.basename(path), named=True)
    known = followed_root(path, settings)
    outside = bool(settings.paths) and known is None
    top = known or (os.path.abspath(root) if root else os.path.dirname(os.path.dirname(path)))
    relative = os.path.relpath(path, top)
    return Followed(
        top,
        relative,
        outside=outside,
        include=_matching(relative, settings.include),
        exclude=_matching(relative, settings.exclude),
        link=_link(path, top),
    )


def followed_root(path: str, settings: Settings) -> str | None:
    """The first directory of `paths` that *path* is below."""
    for root in map(os.path.abspath, settings.paths):
        if path.startswith(root.rstrip("/") + "/"):
            return root
    return None


def _matching(relative: str, patterns: tuple[str, ...]) -> str | None:
    return next((each for each in patterns if PathFilter([each])(relative)), None)


def _link(path: str, root: str) -> str | None:
    """The outermost symbolic link below *root*: the daemon does not go through it."""
    link: str | None = None
    while path not in (root, "/"):
        link = path if os.path.islink(path) else link
        path = os.path.dirname(path)
    return link
