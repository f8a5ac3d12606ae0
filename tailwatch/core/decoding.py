"""A line's bytes -> the JSON objects in it, however the writer dressed them up."""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec
import msgspec.structs

# Text for `int` of more digits than a double holds; Python refuses 4,300 and more.
_INT_DIGITS_MAX = 400
_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_LOOKS_LIKE_JSON = re.compile(r"\{\s*(?:[\"'{}]|$)")
# A torn or foreign line is tried at so many braces: each try may cost the whole line.
_TRIES_MAX = 8
_OBJECTS_MAX = 1024
# Python's parser is slow, and takes a hundred bytes of memory for each of these characters.
_PYTHON_CHARS_MAX = 64 * 1024
_PYTHON_NAMES: dict[str, Any] = {
    "nan": float("nan"),
    "NaN": float("nan"),
    "inf": float("inf"),
    "Infinity": float("inf"),
    "null": None,
    "true": True,
    "false": False,
}


def _int(text: str) -> int | float:
    return int(text) if len(text) <= _INT_DIGITS_MAX else float(text)


# The standard decoder reads what trainers write beyond JSON: NaN, Infinity, 1e999.
_lenient = json.JSONDecoder(parse_int=_int)


def decode(data: bytes) -> Any:
    """
    Decode one JSON line as the standard library would, only faster.

    Raises:
        ValueError: It is no JSON. RecursionError: It is nested too deep.
    """
    try:
        return msgspec.json.decode(data)
    except (ValueError, RecursionError):
        # A hole of NULs is what copytruncate leaves before the first row.
        text = data.lstrip(b"\0").decode("utf-8-sig")
        return _lenient.decode(text.strip())


class Member(NamedTuple):
    """
    One key of the objects that a decoder is made for.

    Attributes:
        name: The attribute that its value becomes.
        kind: `float`: a number, made a float; `Any`: any value; `PASSED`: any value, which is
            checked and not made into anything; `NO_OBJECT`: any but an object; a list of
            members: an object with just these.
    """

    key: str
    name: str
    kind: Any


PASSED = msgspec.Raw
NO_OBJECT = int | float | str | bool | list[Any] | None


def decoder_of(members: Sequence[Member]) -> Callable[[bytes], Any]:
    """
    Make a decoder of lines that are an object with just these keys.

    What it accepts, `decode` reads as the same. For all else it raises what `decode` does.
    """
    kind = _struct(members)
    if not _passes(members):
        return msgspec.json.Decoder(kind).decode
    within = msgspec.json.Decoder(tuple[kind]).decode  # type: ignore[valid-type]

    def passing(line: bytes) -> Any:
        # Passed text is not checked to be UTF-8; and a passed value may be nested one level deeper
        # than one that is decoded, but for the list around it.
        if not line.isascii():
            raise ValueError
        return within(b"[" + line + b"]")[0]

    return passing


def _struct(members: Sequence[Member]) -> type[msgspec.Struct]:
    return msgspec.defstruct(
        "Members",
        [(m.name, _struct(m.kind) if type(m.kind) is list else m.kind) for m in members],
        rename={m.name: m.key for m in members},
        forbid_unknown_fields=True,
    )


def _passes(members: Sequence[Member]) -> bool:
    return any(m.kind is PASSED or (type(m.kind) is list and _passes(m.kind)) for m in members)


as_dict = msgspec.structs.asdict
"""The attributes of what such a decoder gave."""


def objects(data: bytes) -> tuple[list[dict[str, Any]], str | None]:
    r"""
    The JSON objects of a line, and why something of it is none, if so.

    Beyond one plain object: several glued together, text of a logger before one,
    colours, a progress bar with carriage returns, and the dict of a Python `print`.

    >>> objects(b'{"step": 1}{"step": 2}')
    ([{'step': 1}, {'step': 2}], None)
    >>> objects(b"12:00 | INFO | {\"loss\": \"2.5\"}")
    ([{'loss': '2.5'}], None)
    >>> objects(b"{'loss': 0.5, 'grad_norm': nan}")
    ([{'loss': 0.5, 'grad_norm': nan}], None)
    >>> objects(b'{"step": 1, "lo')
    ([], 'not_json')
    """
    try:
        value = decode(data)
    except RecursionError:
        return [], "too_deep"
    except UnicodeDecodeError:
        return _salvage(data.decode("utf-8", "replace")) if b"{" in data else ([], "not_json")
    except ValueError:
        return _salvage(data.decode("utf-8")) if b"{" in data else ([], "not_json")
    return ([value], None) if type(value) is dict else ([], "not_object")


@dataclass(slots=True)
class _Budget:
    """What may still be spent on one line."""

    tries: int = _TRIES_MAX
    objects: int = _OBJECTS_MAX
    python_chars: int = _PYTHON_CHARS_MAX


def _salvage(text: str) -> tuple[list[dict[str, Any]], str | None]:
    found: list[dict[str, Any]] = []
    reason, budget = None, _Budget()
    for piece in _ANSI.sub("", text).replace("\0", " ").split("\r"):
        if "{" in piece:
            more, broken = _of_piece(piece, budget)
            found += more
            reason = reason or broken
    return found, reason or (None if found else "not_json")


def _of_piece(piece: str, budget: _Budget) -> tuple[list[dict[str, Any]], str | None]:
    found: list[dict[str, Any]] = []
    broken, at = None, piece.find("{")
    while at >= 0 and budget.tries > 0 and budget.objects > 0:
        try:
            value, end = _lenient.raw_decode(piece, at)
        except RecursionError:
            return found, "too_deep"
        except ValueError:
            if not found and (value := _python_dict(piece[at:], budget)) is not None:
                budget.objects -= 1
                return [value], None
            budget.tries -= 1
            if _LOOKS_LIKE_JSON.match(piece, at):
                broken = "not_json"
            # Within a torn object an inner one is a value of it, and no row.
            at = _next_start(piece, at)
            continue
        if broken and piece[end:].strip():
            break
        found.append(value)
        budget.objects -= 1
        at = piece.find("{", end)
    return found, broken


def _next_start(piece: str, at: int) -> int:
    """The next brace after *at* that does not stand where a value would."""
    while (brace := piece.find("{", at + 1)) >= 0:
        # Only what is between the two: looking back further squares the cost of a line.
        before = piece[at:brace].rstrip()
        if not before.endswith((":", ",", "[", "{")):
            return brace
        at = brace
    return -1


def _python_dict(text: str, budget: _Budget) -> dict[str, Any] | None:
    """A dict as Python prints it. It is parsed, and never evaluated."""
    end = text.rfind("}") + 1
    if not text.startswith(("{'", '{"')) or not 0 < end <= budget.python_chars:
        return None
    budget.python_chars -= end
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Of an odd escape in a stranger's text.
            tree = ast.parse(text[:end], mode="eval")
        value = _plain(tree.body)
    except (SyntaxError, ValueError, RecursionError, MemoryError, TypeError):
        return None
    return value if type(value) is dict else None


def _plain(node: ast.expr) -> Any:
    match node:
        case ast.Constant(value=str() | int() | float() | None as value):
            return value
        case ast.Name(id=name) if name in _PYTHON_NAMES:
            return _PYTHON_NAMES[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_plain(operand)
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            return [_plain(part) for part in parts]
        case ast.Dict(keys=keys, values=values):
            return {
                str(_plain(key)): _plain(value)
                for key, value in zip(keys, values, strict=True)
                if key is not None
            }
        case ast.Call(func=ast.Name(id="tensor" | "array"), args=[first, *_]):
            return _plain(first)
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id="np" | "numpy")), args=[first, *_]
        ):  # numpy 2 prints np.float64(0.5).
            return _plain(first)
    raise ValueError("not a plain value")
