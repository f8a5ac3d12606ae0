"""Rows in the middle of other text: captured output, loggers, and what breaks lines."""

from __future__ import annotations

import json
import math

import pytest

from .seen import Seen, read

HF_OUTPUT = (
    b"Some weights were newly initialized: ['classifier.bias']\n"
    b"\r  0%|          | 0/200 [00:00<?, ?it/s]\r  5%|5         | 10/200 [00:01<00:20,  9.1it/s]"
    b"{'loss': 2.5, 'grad_norm': 1.25, 'learning_rate': 9.77e-06, 'epoch': 0.05}\n"
    b"\r 10%|#         | 20/200 [00:02<00:19,  9.3it/s]\r                     \r"
    b"{'loss': 2.25, 'grad_norm': nan, 'learning_rate': 9e-06, 'epoch': 0.1}            \n"
    b"{'loss': nan, 'grad_norm': nan, 'learning_rate': 9e-06, 'epoch': 0.15}\n"
    b"{'eval_loss': nan, 'eval_runtime': 3.5, 'epoch': 0.15}\n"
    b"{'train_runtime': 9.5, 'train_samples_per_second': 20.5, 'train_loss': 2.4, 'epoch': 1.0}\n"
)


def test_hugging_face_output() -> None:
    """Python's own spelling of a row, with progress bars before and after it."""
    seen = read(HF_OUTPUT)
    assert (seen.kinds, seen.nans, seen.bad) == ("TTTVE", [3], {"not_json": 1})
    assert (seen.of("loss")[:2], seen.of("learning_rate")[0]) == ([2.5, 2.25], 9.77e-06)


def test_hugging_face_5_output() -> None:
    """It formats its numbers as text."""
    seen = read(
        "{'loss': '0.2051', 'grad_norm': 'nan', 'learning_rate': '9.77e-06', 'epoch': '0.53'}\n"
    )
    assert seen.rows[0].values.keys() == {"loss", "grad_norm", "learning_rate", "epoch"}
    assert (seen.of("loss"), seen.nans) == ([0.2051], [])
    assert read("{'loss': 'nan', 'epoch': '0.53'}\n").nans == [1]


FAIRSEQ = """\
{time}INFO{sep}fairseq_cli.train{end}training on 8 devices (GPUs/TPUs)
{time}INFO{sep}train_inner{end}{{"epoch": 1, "update": 0.004, "loss": "20.714", "num_updates": "10", \
"lr": "7.3e-06", "gnorm": "30.01", "loss_scale": "16", "wps": "9123.5", "wall": "90"}}
{time}INFO{sep}fairseq.trainer{end}NOTE: gradient overflow detected, setting loss scale to: 8.0
{time}INFO{sep}train_inner{end}{{"epoch": 1, "update": 0.008, "loss": "nan", "num_updates": "20", \
"lr": "7.4e-06", "gnorm": "nan", "loss_scale": "8"}}
{time}INFO{sep}valid{end}{{"epoch": 1, "valid_loss": "9.5", "valid_num_updates": "20", "valid_best_loss": "9.5"}}
{time}INFO{sep}train{end}{{"epoch": 1, "train_loss": "19.5", "train_num_updates": "20", "train_gnorm": "29", \
"train_lr": "7.4e-06"}}
"""


@pytest.mark.parametrize(
    "dress",
    [
        {"time": "2021-08-13 14:59:32 | ", "sep": " | ", "end": " | "},
        {"time": "[2022-04-08 18:48:05,372][", "sep": "][", "end": "] - "},
    ],
)
def test_fairseq(dress: dict[str, str]) -> None:
    """A logger's words before each row, numbers as text; an epoch's average is no step's loss."""
    seen = read(FAIRSEQ.format(**dress))
    assert (seen.kinds, seen.nans, seen.bad) == ("TTVT", [20], {"not_json": 2})
    assert seen.steps == [10, 20, 20, 20]
    assert seen.rows[0].values == {
        "loss": 20.714, "grad_norm": 30.01, "learning_rate": 7.3e-06, "loss_scale": 16.0,
        "tokens_per_second": 9123.5, "epoch": 1.0,
    }  # fmt: skip
    assert seen.evals == {"valid_loss": [9.5]}
    assert (len(seen.of("loss")), len(seen.of("grad_norm"))) == (2, 2)


def test_levanter() -> None:
    """A logger's words, and events of which only one kind is a row of training."""

    def line(event: str, **more: object) -> str:
        body = json.dumps({"tracker": "json_logger", "event": event, **more})
        return f"2025-01-01T00:00:00 - 0 - levanter.json_logger - json.py:9 - INFO :: {body}\n"

    seen = read(
        line("hparams", hparams={"learning_rate": 1e-4, "train/loss": 0})
        + line("log", step=5, metrics={"train/loss": 2.5, "optim/learning_rate": 1e-4})
        + line("log", step=6, metrics={"train/loss": math.nan})
        + line("log", step=6, metrics={"eval/loss": 2.75})
        + line("summary", metrics={"train/loss": 9.5})
        + line("finish")
    )
    assert (seen.kinds, seen.nans, seen.bad) == ("MTTVEE", [6], {})
    assert (seen.of("loss")[0], seen.evals) == (2.5, {"eval/loss": [2.75]})


def test_glued_rows() -> None:
    """Two writers once forgot the newline between two rows: both count, in their order."""
    seen = read(b'{"step": 1, "loss": 2.5}{"step": 2, "loss": NaN}\n{"step": 3, "loss": 2.0}\n')
    assert (seen.steps, seen.nans, seen.bad) == ([1, 2, 3], [2], {})


@pytest.mark.parametrize(
    "log",
    [
        b'\xef\xbb\xbf{"step": 1, "loss": 2.5}\n{"step": 2, "loss": NaN}\n',
        b'{"step": 1, "loss": 2.5}\r\n{"step": 2, "loss": NaN}\r\n',
        b'{"step": 1, "loss": 2.5}   \n \t{"step": 2, "loss": NaN}  \n\n  \n',
        b'\x1b[32mINFO\x1b[0m {"step": 1, "loss": \x1b[1m2.5\x1b[0m}\n\x1b[0m{"step": 2, "loss": NaN}\x1b[K\n',
        b' 10%|#  | 1/9\r{"step": 1, "loss": 2.5}\r 20%|## | 2/9\r{"step": 2, "loss": NaN}\r\n',
        b"\0" * 70_000 + b'{"step": 1, "loss": 2.5}\n{"step": 2, "loss": NaN}\n',
        b'{"step": 1, "loss": 2.5}\n' + b"\0" * 70_000 + b'{"step": 2, "loss": NaN}\n',
        b'{"step": 1, "loss": 2.5}\n{"step": 2, "loss": NaN}',
        b'{"step": 1, "loss": 2.5}\n{"step": 2, "note": "\xff\xfe", "loss": NaN}\n',
    ],
    ids=["bom", "crlf", "spaces", "ansi", "carriage", "nuls", "hole", "no newline", "latin"],
)
def test_what_surrounds_rows(log: bytes) -> None:
    """None of it costs a row, makes a bad line, or hides a NaN."""
    seen = read(log)
    assert (seen.steps, seen.of("loss")[0], seen.nans, seen.bad) == ([1, 2], 2.5, [2], {})


def test_a_half_megabyte_of_metadata() -> None:
    """One line of half a megabyte, fed in small pieces, is one row of metadata."""
    history = [{"step": n, "loss": math.nan, "grad_norm": 1.5} for n in range(11_000)]
    data = (
        b'{"step": 1, "loss": 2.5}\n'
        + json.dumps({"global_step": 9, "log_history": history}).encode()
        + b'\n{"step": 2, "loss": 2.25}\n'
    )
    seen = Seen()
    for start in range(0, len(data), 4096):
        seen.feed(data[start : start + 4096])
    assert len(data) > 500_000
    assert (seen.kinds, seen.bad, seen.nans) == ("TMT", {}, [])


def test_a_torn_last_line_waits() -> None:
    """Half a row is no bad line: its other half may come."""
    seen = read(b'{"step": 1, "loss": 2.5}\n{"step": 2, "lo')
    assert (seen.steps, seen.bad) == ([1], {})
    seen.feed(b'ss": NaN}\n')
    assert (seen.steps, seen.nans) == ([1, 2], [2])


def test_text_of_other_trainers_is_no_row() -> None:
    """Lines of text without an object (Megatron, torchtune, nanoGPT, ...) are counted, and harmless."""
    seen = read(
        " iteration 5426/ 250000 | consumed samples: 9 | lm loss: 1.2E+00 | grad norm: nan |\n"
        "Step 12 | loss:1.23 lr:2e-05 grad_norm:nan\n"
        "iter 10: loss nan, time 50ms, mfu 30%\n"
        "[metric][batch=12]: loss/train/total: nan\n"
    )
    assert (seen.rows, seen.bad, seen.nans) == ([], {"not_json": 4}, [])
