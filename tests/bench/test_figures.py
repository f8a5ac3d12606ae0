"""The figures that README states: how often the checks are wrong, and which faults they find."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tailwatch.bench.run import bench_all
from tailwatch.bench.score import OURS, Score
from tailwatch.bench.table import markdown
from tailwatch.core.findings import Severity

from .given import SETTINGS
from .make_corpus import LENGTHS, MAKERS, ROWS, SHAPES, write

README = (Path(__file__).parents[2] / "README.md").read_text()


@pytest.fixture(scope="module")
def score(tmp_path_factory: pytest.TempPathFactory) -> Score:
    """What `tailwatch bench --rivals` measures on the logs of make_corpus."""
    directory = tmp_path_factory.mktemp("corpus") / "logs"
    write(directory)
    score, troubles = bench_all([str(directory)], SETTINGS, 1, rivals=True)
    assert troubles == []
    return score


def test_readme_has_what_the_command_prints(score: Score) -> None:
    """The section's tables are the output of the commands that stand above them."""
    section = README.split("\n## How often is it wrong?\n", 1)[1].split("\n## ", 1)[0]

    assert "python tests/bench/make_corpus.py" in section
    assert re.search(r"tailwatch bench \S+ --rivals --format markdown", section)
    assert markdown(score) in section


def test_the_corpus_has_every_shape(score: Score) -> None:
    """All logs are read, and none of the checks fails on one."""
    assert score.runs == len(SHAPES) * len(ROWS) + len(MAKERS) * len(LENGTHS)
    assert score.rows > 18_000
    assert score.failed == {}


def test_healthy_logs_page_nobody(score: Score) -> None:
    """No critical finding where nothing is wrong."""
    assert score.of_severity(Severity.CRITICAL).findings == 0


def test_healthy_logs_rarely_warn(score: Score) -> None:
    """At most one warning in 10,000 rows, beyond the seed rule on large gradient norms."""
    warnings = score.of_severity(Severity.WARNING).findings
    of_seed = score.checks["grad_norm_high"].findings

    assert warnings - of_seed <= score.rows / 10_000
    assert of_seed <= 9  # The logs with norms of 90 and more, segment by segment.


def test_others_alarm_more_often(score: Score) -> None:
    """On the same logs the z-score rule alarms in most, and ours in few."""
    ours = score.of_severity(Severity.WARNING)

    assert len(score.rivals["W&B z"].touched) > score.runs / 2
    assert 5 * ours.findings < score.rivals["W&B z"].findings


# A figure that gets worse fails; one that gets better may raise its bound.
@pytest.mark.parametrize(
    ("fault", "share_min", "rows_max"),
    [
        ("spike 3x, 5 rows", 0.85, 5),
        ("ramp +3% a row", 0.75, 32),
        ("ramp +0.3% a row", 0.89, 185),
        ("NaN", 1.0, 1),
        ("NaN as 0, norm NaN", 1.0, 1),
        ("NaN as 0, no norm", 1.0, 3),
        ("NaN as norm sqrt(k)", 1.0, 3),
        ("NaN as null", 0.91, 2),
        ("grad norm 5x-100x", 1.0, 3),
        ("stall", 1.0, 60),
    ],
)
def test_faults_are_found(score: Score, fault: str, share_min: float, rows_max: float) -> None:
    """Each kind was tried often, and is found in at least this share, at this row or before."""
    tried = score.faults[fault]
    median = tried.rules[OURS].median_rows

    assert tried.tried >= 24
    assert tried.share(OURS) >= share_min
    assert median is not None
    assert median <= rows_max


@pytest.mark.parametrize("rival", ["OLMo-core", "foundry", "Megatron", "seed"])
@pytest.mark.parametrize("fault", ["spike 3x, 5 rows", "ramp +3% a row", "ramp +0.3% a row"])
def test_ours_find_more_than_quiet_rivals(score: Score, rival: str, fault: str) -> None:
    """Of the rules that alarm as seldom, none finds as many climbs."""
    assert score.faults[fault].share(OURS) > score.faults[fault].share(rival)
