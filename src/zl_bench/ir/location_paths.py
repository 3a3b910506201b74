"""Takes the folders out of what names files: of a kernel's locations and of messages, so that both can be shown to others."""

from __future__ import annotations

import re

_LOCATION = re.compile(r'"((?:[^"\\]|\\.)*)"(?=:\d+:\d+)')
"""A file, as a location names it: `"/a/b.py":12:3`."""
_PATH = re.compile(r'"(/[^/"*\s][^"\n]*)"')
"""A string that is an absolute path; a comment of inline assembly is none."""
_FOLDERS = re.compile(r"(?<![\w./])/(?:[^\s/:'\"]+/)*(?=[^\s/:'\"])")
"""The folders of a path in a message."""


def without_folders(text: str) -> str:
    """The same text with each location's file named without its folders. Its fingerprint is the same: it has no locations."""
    return _LOCATION.sub(lambda match: f'"{match[1].rsplit("/", 1)[-1]}"', text)


def paths_named(text: str) -> tuple[str, ...]:
    """The absolute paths that the text names, in locations and elsewhere, each once."""
    return tuple(dict.fromkeys(_PATH.findall(text)))


def message_without_folders(message: str) -> str:
    """A compiler's message in which each file is named without its folders."""
    return _FOLDERS.sub("", message)
