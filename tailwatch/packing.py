"""Values to bytes and back, for the state on disk."""

from __future__ import annotations

import zlib
from typing import Any

import msgspec

# Our own msgpack type: a text with undecodable bytes in it, such as the path of a root.
_RAW_TEXT = 1
_encoder = msgspec.msgpack.Encoder()


def pack(value: Any) -> bytes:
    """Plain values to msgpack, which unlike JSON keeps NaN."""
    # Not `encode`: when memory runs out in it, msgspec (0.23) takes the process down.
    packed = bytearray()
    try:
        _encoder.encode_into(value, packed)
    except UnicodeEncodeError:
        _encoder.encode_into(_encodable(value), packed)
    return bytes(packed)


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


class Alike:
    """
    Compresses bytes that are alike: each by what it shares with the first.

    Of the states of two runs the names are the same, and many numbers: by what it shares with
    another a state is a fifth of its size, by itself half.

    >>> alike = Alike()
    >>> texts = [b"%d steps of a run, all of them well" % n for n in (1017, 2345)]
    >>> small = [alike.compress(text) for text in texts]
    >>> len(small[1]) < len(texts[1]) / 2, [alike.expand(each) for each in small] == texts
    (True, True)
    """

    def __init__(self) -> None:
        self._first = b""

    def compress(self, data: bytes) -> bytes:
        """To be kept in this process only: `expand` needs the first, too."""
        self._first = self._first or data
        squeeze = zlib.compressobj(1, zdict=self._first)
        return squeeze.compress(data) + squeeze.flush()

    def expand(self, small: bytes) -> bytes:
        """What `compress` was called on."""
        return zlib.decompressobj(zdict=self._first).decompress(small)
