"""The words that tell rows apart."""

from __future__ import annotations

from tailwatch.core import labels
from tailwatch.core.aliases import ALIASES, Source


def test_a_label_means_one_thing() -> None:
    """No word says two of evaluation, metadata and end."""
    words = (labels.EVAL_LABELS, labels.METADATA_LABELS, labels.END_LABELS)
    assert sum(map(len, words)) == len(frozenset().union(*words))


def test_what_describes_a_run_or_an_example_is_no_value() -> None:
    """Keys of metadata and of data sets are the source of no field."""
    sources = {
        one.key if isinstance(one, Source) else one
        for groups in ALIASES.values()
        for group in groups
        for one in ([group] if isinstance(group, (str, Source)) else group)
    }
    assert sources.isdisjoint(labels.DATA_KEYS | labels.METADATA_KEYS)
