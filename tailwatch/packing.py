"""Values to bytes and back, for the state on disk."""

from __future__ import annotations

from typing import Any

import msgspec

# Our own msgpack type: a text with undecodable bytes in it, such as the path of a root.
_RAW_TEXT = 1


def pack(value: Any) -> bytes:
    """Plain values to msgpack, which unlike JSON keeps NaN."""
    try:
        return msgspec.msgpack.encode(value)
    except UnicodeEncodeError:
        return msgspec.msgpack.encode(_encodable(value))


def _encodable(value: Any) -> Any:
    if isinstance(value, str) and not value.isascii():
        return msgspec.msgpack.Ext(_RAW_TEXT, value.encode(errors="surrogatepass"))
    if isinstance(value, dict):
        return {key: _encodable(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_encodable(each) for each in value]
    return value


def unpack(data: bytes) -> Any:
    """What `pack` was called on; tuples come back as lists."""
    return msgspec.msgpack.decode(data, ext_hook=_decoded)


def _decoded(_: int, data: memoryview) -> str:
    return bytes(data).decode(errors="surrogatepass")
