"""A trainer that saves its state as Hugging Face's does, and a real daemon."""

from __future__ import annotations

import math
import time
from pathlib import Path

from tests.trainer import Trainer

from .daemon import Daemon, daemon, receiver, tailwatch, wait_for, write

RUN = "exp/trainer_state"


def rows(tw: Daemon, number: int) -> None:
    """Wait until the run has so many rows."""
    wait_for(
        lambda: tw.metric("tailwatch_run_rows_total", run=RUN) == number,
        message=f"{number} rows of {RUN}",
    )


def test_saves_are_followed_through_kills_and_a_resume(tmp_path: Path) -> None:
    """Saves, rotations, a half-written one, kill -9, a resume, a NaN: every row once, one page."""
    with receiver() as hook, daemon(tmp_path, url=hook.url) as tw:
        trainer = Trainer(tw.runs / "exp", limit=2)
        for last in (100, 200, 300):
            trainer.log_to(last)
            trainer.save()
            rows(tw, last // 10)
        trainer.log_to(400)
        trainer.save(part=0.6)
        tw.kill()
        tw.start()
        rows(tw, 30)
        trainer.save()
        rows(tw, 40)
        tw.kill()
        trainer.log_to(500)
        trainer.save()
        tw.start()
        rows(tw, 50)
        trainer.resume("checkpoint-400")
        trainer.log_to(450, loss=1.5)
        trainer.log(460, math.nan)
        trainer.log_to(700)
        trainer.save()
        rows(tw, 80)
        wait_for(lambda: hook.posts, message="a post")
        for end in (tw.kill, tw.stop):
            trainer.log_to(trainer.history[-1]["step"] + 100)
            trainer.save()
            end()
            tw.start()
        trainer.finish()
        rows(tw, 100)
        time.sleep(1.5)  # Long enough for a second telling to come.

        told = [(f["run"], f["category"], f["step"]) for f in hook.findings()]
        assert told == [(RUN, "nan_loss", 460)]
        assert tw.metric("anomaly_findings_total", run=RUN, category="nan_loss") == 1
        assert tw.metric("tailwatch_restarts_total", reason="replaced") in (None, 0)


def test_a_trainer_that_writes_rows_too_pages_once(tmp_path: Path) -> None:
    """Of a metric file and the saves beside it one is followed, and the log says why."""
    with receiver() as hook, daemon(tmp_path, url=hook.url) as tw:
        trainer = Trainer(tw.runs / "exp")
        trainer.log_to(100)
        trainer.log(110, math.nan)
        write(
            tw.runs / "exp" / "logging.jsonl",
            "".join(
                f'{{"global_step/max_steps": "{r["step"]}/900", "loss": {r["loss"]}}}\n'.replace(
                    "nan", "NaN"
                )
                for r in trainer.history
            ),
        )
        trainer.save()
        wait_for(lambda: hook.posts, message="a post")
        wait_for(lambda: "file_skipped" in [line["event"] for line in tw.log()])
        time.sleep(1.5)  # Long enough for a second telling to come.

        assert [f["run"] for f in hook.findings()] == ["exp/logging"]
        assert tw.metric("tailwatch_run_rows_total", run=RUN) is None
        (said,) = [line for line in tw.log() if line["event"] == "file_skipped"]
        assert said["reason"] == "same training as exp/logging"


def test_check_and_replay_read_saves(tmp_path: Path) -> None:
    """Both commands name the run as the daemon does, and find what is in its rows."""
    trainer = Trainer(tmp_path / "exp")
    trainer.log_to(100)
    trainer.save()
    trainer.log(110, math.nan)
    trainer.save()
    checked, replayed = tailwatch("check", str(tmp_path)), tailwatch("replay", str(tmp_path))

    assert (checked.returncode, replayed.returncode) == (1, 0)
    assert f"{RUN}  11 rows, steps 10 to 110" in checked.stdout
    assert "loss is NaN at step 110" in checked.stdout
    assert replayed.stdout.count("nan_loss") == 1
