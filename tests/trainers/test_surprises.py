"""What breaks a naive tailer of JSON lines: of files, of lines, of values."""

from __future__ import annotations

import json
import math

import pytest

from tests.simulation.world import Process, SimWorld

from .seen import Seen, lines, read

NAN = math.nan


def test_replaced_by_a_copy_with_one_more_row() -> None:
    """seqio copies its whole log for each row and renames it: each row counts once, a NaN is told once."""
    path = "/runs/inference_eval/squad-metrics.jsonl"
    world = SimWorld()
    process = Process(world)
    log = b""
    for step in range(1000, 9000, 1000):
        loss = NAN if step == 3000 else 2.5
        log += lines([{"step": step, "loss": loss, "f1": 50.0}])
        world.replace(path, log)
        process.turn(path)
        process.turn(seconds=11)
    (run,) = world.published[-1].runs.values()
    assert (run.rows, run.last_step) == (8, 8000)
    told = [t.mark.step for _, t, _ in world.findings if t.category == "nan_loss"]
    assert (told, len(world.received)) == ([3000], 1)


def test_a_log_of_scores_alone_is_no_run() -> None:
    """seqio's usual log has scores and no loss."""
    assert not read([{"step": 1000, "bleu": 9.5}, {"step": -1, "bleu": 9.5}]).reader.is_metric


@pytest.mark.parametrize(
    ("before", "after", "life"),
    [
        # 25 runs, 4 runs, 9 runs were found in one file: the step falls to the beginning.
        (range(0, 500, 20), [0, 20, 40], (2, 0)),
        (range(19, 500, 20), [19, 39], (2, 0)),
        # Real resumes: the step falls by a part, the loss goes on.
        (range(4000, 5051, 50), [4100, 4150], (1, 1)),
        (range(10000, 18831, 30), [16400, 16430], (1, 1)),
        # Two writers, or a row that came late.
        (range(0, 500, 10), [480, 490, 500], (1, 0)),
        # The step stands still while a buffer fills.
        ([146] * 40, [146, 146, 200], (1, 0)),
        # Steps of the environment are not whole, and not evenly spaced.
        ([0.032, 4.032, 8.032, 12.0, 90.5], [91.25], (1, 0)),
    ],
)
def test_the_life_of_a_trainer(before: range, after: list[float], life: tuple[int, int]) -> None:
    """Appended reruns, resumes, two writers, a step that stands still."""
    rows = [{"step": step, "loss": 2.0} for step in [*before, *after]]
    assert read(rows).life == life


def test_a_rerun_does_not_look_like_divergence() -> None:
    """The loss jumps back to its beginning: nothing is told of the new segment."""
    once = [{"step": n, "loss": 9.0 / (1 + n / 20)} for n in range(0, 800, 20)]
    assert read(once * 3).transitions == []


@pytest.mark.parametrize(
    "spelt",
    [
        "NaN", "Infinity", "-Infinity", '"nan"', '"NaN"', '"inf"', '"-inf"', '"Infinity"',
        '"-Infinity"', '"tensor(nan)"', "\"tensor(nan, device='cuda:0')\"", "1e999", "-1e999",
        "1" * 400, "nan", "inf", "-inf", '{"num": 1, "mean": NaN, "std": NaN}',
    ],
)  # fmt: skip
def test_every_spelling_of_nan(spelt: str) -> None:
    """Each is found at its own step, in the middle of a healthy log."""
    key = "Loss/loss" if spelt.startswith("{") else "loss"
    healthy = spelt.replace("NaN", "2.5") if spelt.startswith("{") else "2.5"
    log = "".join(
        f'{{"step": {n}, "{key}": {spelt if n == 30 else healthy}}}\n' for n in range(10, 60, 10)
    )
    seen = read(log)
    assert (seen.nans, seen.bad, len(seen.of("loss"))) == ([30], {}, 5)


@pytest.mark.parametrize(
    "spelt",
    ["nan", "-inf", "np.float64(nan)", "np.float32(nan)", "tensor(nan, device='cuda:0')", "'nan'"],
)
def test_every_spelling_of_nan_in_python(spelt: str) -> None:
    """The same in a dict as Python prints it."""
    seen = read(f"{{'step': 10, 'loss': 2.5}}\n{{'step': 20, 'loss': {spelt}, 'done': False}}\n")
    assert (seen.nans, seen.bad) == ([20], {})


@pytest.mark.parametrize(
    "spelt",
    ["null", '"null"', '""', '"--"', "true", "[]", "[NaN]", '{"a": NaN}', '"banana"', '"info"'],
)
def test_what_is_no_number_is_no_nan(spelt: str) -> None:
    """Null, text, lists and objects under the loss's key are nothing to tell of."""
    assert read(f'{{"step": 10, "loss": {spelt}}}\n{{"step": 20, "loss": 2.5}}\n').nans == []


def test_numbers_as_text() -> None:
    """fairseq and LAVIS write all numbers so."""
    seen = read([{"step": "10", "loss": "9.276", "lr": "2e-4", "epoch": "0.5"}])
    assert seen.rows[0].values == {"loss": 9.276, "learning_rate": 2e-4, "epoch": 0.5}
    assert seen.steps == [10]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0:32:48", 1968.0),
        ("9 days, 22:13:15", 857595.0),
        ("1m 42s", 102.0),
        ("6s", 6.0),
        (7.5, 7.5),
    ],
)
def test_durations(text: object, seconds: float) -> None:
    """Four ways to write how long it took."""
    assert read([{"step": 1, "loss": 2.5, "elapsed_time": text}]).of("elapsed_s") == [seconds]


def test_odd_keys_and_values_beside_the_loss() -> None:
    """Spaces, brackets, per cent signs, slashes; lists, media, deep nests: none is in the way."""
    row = {
        "memory(GiB)": 31.5, "Mean accepted tokens": 2.5, "a%b": NAN, "": NAN, "é\u2028": "\ud83d",
        "test_coco_eval_bbox": [NAN] * 12, "media": {"_type": "image-file"}, "loss": NAN,
        "deep": {"a": {"b": {"c": {"d": {"loss": NAN}}}}}, "step": 5, "data": 7, "info": [],
    }  # fmt: skip
    seen = read([row])
    assert (seen.nans, seen.of("memory_gib"), seen.bad) == ([5], [31.5], {})


def test_the_order_of_keys_varies() -> None:
    """A row's meaning does not hang on it."""
    row = {"step": 5, "loss": 2.5, "lr": 1e-4, "val_loss": 2.75}
    seen = read([row, dict(reversed(row.items()))])
    assert [r.values for r in seen.rows] == [seen.rows[0].values] * 2


def test_rows_of_seventeen_kilobytes() -> None:
    """A configuration embedded in each row costs the file nothing: it is a run all the same."""
    config = {f"setting {n}": "x" * 40 for n in range(300)}
    rows = [
        {"training_iteration": n, "config": config, "episode_reward_mean": 9.5} for n in (1, 2)
    ]
    assert len(json.dumps(rows[0])) > 16_000
    assert (read(rows).steps, read(rows).reader.is_metric) == ([1, 2], True)


def test_rows_that_are_flushed_together() -> None:
    """Whether a writer flushes each row or many at once is not to be seen."""
    log = lines({"step": n, "loss": NAN if n == 7 else 2.5} for n in range(1, 60))
    once, piecemeal = read(log), Seen()
    for start in range(0, len(log), 100):
        piecemeal.feed(log[start : start + 100])
    assert (once.nans, once.steps) == (piecemeal.rest().nans, piecemeal.steps)
