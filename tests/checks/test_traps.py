"""
Logs that look wrong and are not: no check says anything, or only what is true.

Each is a shape that real trainers write, and that has fooled a rule somewhere. All checks
are on; the rules of the seed that are known to misfire are left out where they would.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable
from typing import Any

import pytest

from tailwatch.checks import CHECKS
from tailwatch.core.findings import Severity, TransitionKind
from tailwatch.core.reader import RunReader
from tests.corpus import lines

NAN, INF = math.nan, math.inf
MISFIRES = {"loss_flat", "grad_norm_high"}


def said(records: Iterable[dict[str, Any]], *, rest: bool = True) -> list[str]:
    """The categories that fire, but for the seed's two that misfire, in the order of time."""
    reader = RunReader(CHECKS)
    transitions = reader.feed(lines(list(records)))
    transitions += reader.rest() if rest else []
    assert reader.monitor.take_errors() == []
    return [
        t.category
        for t in transitions
        if t.kind is TransitionKind.FIRING and not t.continues and t.category not in MISFIRES
    ]


def noise(seed: int = 1, sigma: float = 0.05) -> Iterable[float]:
    rng = random.Random(seed)
    while True:
        yield rng.lognormvariate(0, sigma)


def falling(count: int, first: float = 4.0, start: int = 0) -> list[dict[str, Any]]:
    """A healthy run: a falling loss in some noise."""
    shares = iter(noise(start + count))
    return [
        {"step": start + 10 * n, "loss": (1 + (first - 1) * math.exp(-n / 40)) * next(shares)}
        for n in range(1, count + 1)
    ]


def test_appended_reruns() -> None:
    """The loss jumps back to its start: a new segment, and no divergence."""
    assert said([row for _ in range(5) for row in falling(200)]) == []


def test_reruns_with_a_configuration_row_each() -> None:
    """Each begins with its settings, which are no point of the curve."""
    settings = {"event": "config", "lr": 1e-4, "max_grad_norm": 1.0, "loss": None}
    assert said([row for _ in range(4) for row in [settings, *falling(100)]]) == []


def test_a_real_resume() -> None:
    """The step falls back and the loss goes on where it was: that it resumed is all there is."""
    rows = falling(500)
    assert said([*rows[:400], *rows[330:500]]) == ["run_resumed"]


def test_isolated_infinite_norms_under_amp() -> None:
    """A step that the loss scaler skipped: the norm is infinite, the loss is what it was."""
    rows = [
        row | {"grad_norm": INF if n % 50 == 10 else 1.3} for n, row in enumerate(falling(500))
    ]
    assert said(rows) == []


def test_norms_in_the_millions() -> None:
    """Norms of 4e4 to 4e6 all run long are this run's own."""
    rng = random.Random(2)
    rows = [
        row | {"grad_norm": 10 ** (5.6 + math.sin(n / 300)) * rng.lognormvariate(0, 0.4)}
        for n, row in enumerate(falling(1000))
    ]
    assert said(rows) == []


def test_grpo_losses_of_zero_and_below() -> None:
    """A policy's loss is 0 in many rows and negative in others, some beside a norm of 0 or Infinity."""
    rng = random.Random(3)
    rows = []
    for n in range(1, 600):
        loss = 0.0 if n % 4 else round(rng.gauss(0, 0.03), 4)
        norm = INF if n % 97 == 0 else 0.0 if n % 3 == 0 else rng.uniform(0.1, 0.4)
        spread = 0.0 if n % 3 == 0 else 0.3
        row = {"step": n, "loss": loss, "grad_norm": norm, "reward": 0.2 + n / 1000}
        rows.append(
            row | {"reward_std": spread, "kl": 0.01, "entropy": 0.5, "learning_rate": 1e-6}
        )
    assert said(rows) == []


def test_dpo_from_its_start_to_nothing() -> None:
    """0.693 to 0.003, and single rows back at 0.6."""
    shares = iter(noise(4, 0.2))
    losses = [
        0.6 if n % 23 == 5 else 0.003 + 0.69 * math.exp(-n / 60) * next(shares) for n in range(800)
    ]
    assert set(said({"step": n, "loss": loss} for n, loss in enumerate(losses, 1))) <= {
        "loss_spikes"
    }


@pytest.mark.parametrize("key", ["bbox/APs", "bbox/AP-person", "episode_len_mean", "segm/APl"])
def test_metrics_that_are_nan_by_nature(key: str) -> None:
    """A class without samples has a precision of NaN, an unfinished episode no length."""
    rows = falling(300)
    rows[::20] = [row | {key: NAN} for row in rows[::20]]
    assert said(rows) == []
    assert said([x for row in rows for x in (row, {"step": row["step"], key: NAN})]) == []


def test_an_episode_mean_that_is_nan() -> None:
    """While no episode is finished, the mean reward is NaN."""
    rows = [
        {"training_iteration": n, "episode_reward_mean": NAN if n < 40 else n / 10.0}
        for n in range(1, 300)
    ]
    assert said(rows) == []


def test_null_losses_in_evaluations() -> None:
    """A log that always writes both keys, and ends with a row in which both are null."""
    rows: list[dict[str, Any]] = []
    for n in range(1, 300):
        rows.append({"current_steps": n, "loss": 2.0 - n / 200, "eval_loss": None})
        if n % 10 == 0:
            rows.append({"current_steps": n, "loss": None, "eval_loss": 2.0 - n / 220})
    rows.append({"current_steps": 299, "loss": None, "eval_loss": None, "percentage": 100.0})
    assert said(rows) == []


def test_a_loss_that_is_logged_every_tenth_row() -> None:
    """Between, it is null, and other values are logged."""
    rows = [
        {"step": n, "loss": 2.0 - n / 1000 if n % 10 == 0 else None, "lr": 1e-4, "grad_norm": 1.0}
        for n in range(1, 900)
    ]
    assert said(rows) == []


def test_the_last_row_of_hugging_face() -> None:
    """Its train_loss is an average over the run, far above the last loss."""
    end = {"train_runtime": 360.0, "train_loss": 40.0, "total_flos": 1e17, "step": 3000}
    assert said([*falling(300), end]) == []


def test_a_first_row_that_describes_the_run() -> None:
    """A learning rate of 0 or of 1 in it is no point; it is no configured rate of ours either."""
    first = {"lr": 1e-3, "batch_size": 8, "max_grad_norm": 1.0, "num_train_epochs": 3}
    assert said([first, *falling(200)]) == []


def test_rows_that_are_written_twice() -> None:
    """mmengine's hooks write some rows twice: the same step, the same values."""
    assert said([copy for row in falling(300) for copy in (row, row)]) == []


def test_high_first_losses() -> None:
    """Before the warm-up has done its work the losses are many times what they become."""
    losses = [900.0, 300.0, 80.0, 30.0, *[row["loss"] for row in falling(400)]]
    norms = [5000.0, 900.0, 100.0, 20.0, *[1.2] * 400]
    rows = [
        {"step": n, "loss": loss, "grad_norm": norm}
        for n, (loss, norm) in enumerate(zip(losses, norms, strict=True), 1)
    ]
    assert said(rows) == []


@pytest.mark.parametrize("planned", [True, False])
def test_a_warm_up_from_zero_and_a_cosine_to_zero(planned: bool) -> None:
    """A rate of 0 in the first row and in the last ones is the schedule."""
    rows = []
    for n, row in enumerate(falling(400)):
        rate = n / 40 if n < 40 else max(0.0, (1 + math.cos(math.pi * (n - 40) / 355)) / 2)
        rate = 0.0 if n > 395 else rate
        rows.append(row | {"learning_rate": 1e-4 * rate})
    if planned:
        rows = [row | {"total_steps": 4000} for row in rows]
    assert said(rows) == []


def test_several_evaluation_sets() -> None:
    """Each has its own level; that one is far above another says nothing."""
    rows: list[dict[str, Any]] = []
    for n, row in enumerate(falling(400), 1):
        rows.append(row)
        if n % 20 == 0:
            for k in range(4):
                rows.append({"step": row["step"], f"eval_g{k}_loss": 1.2 + k + math.exp(-n / 50)})
    assert said(rows) == []


def test_an_evaluation_that_wavers() -> None:
    """Evaluations within 5% of the best are noise."""
    rows: list[dict[str, Any]] = []
    for n, row in enumerate(falling(600), 1):
        rows.append(row)
        if n % 10 == 0:
            rows.append({"step": row["step"], "eval_loss": 1.1 * (1 + 0.04 * (n % 20 == 0))})
    assert said(rows) == []


def test_a_slow_evaluation_in_the_step_time() -> None:
    """The step after which the model is saved takes a hundred times as long."""
    rows = [
        row | {"step_time": 40.0 if n % 50 == 49 else 0.4, "tokens_per_second": 1000.0}
        for n, row in enumerate(falling(800))
    ]
    assert said(rows) == []


def test_rounded_losses() -> None:
    """Losses of four places that stand still for a while, beside a norm that was clipped at 1."""
    rows = [
        row | {"loss": round(0.0003 + math.exp(-n / 30), 4), "grad_norm": 1.0}
        for n, row in enumerate(falling(600))
    ]
    assert said(rows) == []


def test_a_loss_below_zero() -> None:
    """Log-likelihoods of densities, and losses that cross zero, have no ratio."""
    rows = [{"step": n, "loss": 1.0 - n / 50 + (n % 7) / 3} for n in range(1, 700)]
    assert said(rows) == []


def test_a_learning_rate_that_jumps() -> None:
    """Warm restarts of the rate bring the loss up for a while, and it comes back."""
    rows = []
    for n, row in enumerate(falling(900)):
        rows.append(
            row | {"loss": row["loss"] * (1 + 0.3 * math.exp(-(n % 300) / 20) * (n > 299))}
        )
    assert said(rows) == []


def test_none_of_the_traps_is_met_by_being_deaf() -> None:
    """The same checks find a divergence, a NaN and a hidden NaN in such a run."""
    rows = falling(300)
    climbs = [r | {"loss": r["loss"] * 1.05 ** max(0, n - 200)} for n, r in enumerate(rows)]
    assert "loss_runaway" in said(climbs)
    assert said([*rows, {"step": 3010, "loss": NAN}], rest=False) == ["nan_loss"]
    assert said([*rows, {"step": 3010, "loss": 0.0, "grad_norm": NAN}], rest=False) == [
        "nan_masked"
    ]
    severities = {c.category: c.severity for c in CHECKS}
    assert severities["loss_runaway"] is severities["nan_masked"] is Severity.CRITICAL
