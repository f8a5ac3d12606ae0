"""The logs of reinforcement learning, and of trackers: sparse, nested, NaN by nature."""

from __future__ import annotations

import math
from typing import Any

import pytest

from .seen import Seen, lines, read

NAN = math.nan


def test_dreamer_v3() -> None:
    """Most rows are of an episode; a row of the training comes now and then."""
    episode = {"episode/score": 1.5, "episode/length": 900.0}
    train = {"train/opt/loss": 9.5, "train/loss/image": NAN, "train/opt/grad_norm": 6329.0}
    rows: list[dict[str, Any]] = [{"step": 146, **episode}] * 12
    rows += [{"step": 400 + n, **(train if n % 4 == 0 else episode)} for n in range(40)]
    rows += [{"step": 460, **train, "train/opt/loss": NAN}]
    rows += [{"step": 470, "fps/policy": 9.5}, {"step": 480, "replay/items": 9}]
    seen = read(rows)
    assert (seen.kinds, seen.life, seen.nans) == ("T" * 53 + "--", (1, 0), [460])
    assert (len(seen.of("loss")), len(seen.of("reward"))) == (11, 42)
    assert set(seen.of("grad_norm")) == {6329.0}


def test_dreamer_v1_has_no_loss() -> None:
    """Returns alone make a run."""
    seen = read([{"step": n, "train/return": -48.0, "episodes": n} for n in range(0, 500, 50)])
    assert (seen.reader.is_metric, seen.of("loss"), seen.of("reward")[0]) == (True, [], -48.0)


def rllib(iteration: int, learner: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "episode_reward_mean": 20.5, "episode_len_mean": NAN, "custom_metrics": {"speed_mean": NAN},
        "info": {"learner": learner, "replay_time_ms": NAN, "num_steps_trained": 9},
        "timesteps_total": iteration * 4000, "training_iteration": iteration, "done": False,
        "config": {"lr": 5e-5, "loss": NAN, "env_config": {"flow": '{"speed": Infinity}'}},
        "time_this_iter_s": 9.5, "time_total_s": 95.0, "timestamp": 1.6e9, **more,
    }  # fmt: skip


def test_rllib() -> None:
    """Below `info.learner`, a policy each; its configuration in every row is no value."""
    stats = {"total_loss": 0.5, "policy_loss": -0.01, "vf_loss": 9.0, "kl": 0.01, "cur_lr": 5e-5,
             "entropy": 1.25}  # fmt: skip
    seen = read(
        [
            rllib(1, {}, episode_reward_mean=NAN),
            rllib(2, {"av": stats}),
            rllib(3, {"av": {"learner_stats": stats}}),
            rllib(4, {"av": {"learner_stats": stats | {"total_loss": NAN}}}),
        ]
    )
    assert (seen.kinds, seen.steps, seen.nans) == ("TTTT", [1, 2, 3, 4], [4])
    assert seen.rows[1].values == {
        "loss": 0.5, "kl": 0.01, "learning_rate": 5e-5, "entropy": 1.25, "reward": 20.5,
        "step_time_s": 9.5, "elapsed_s": 95.0,
    }  # fmt: skip
    assert seen.rows[1].timestamp_s == 1.6e9


def test_one_policy_of_several() -> None:
    """The first speaks for all, until another one's loss is NaN."""
    sound, lost = {"total_loss": 0.5}, {"total_loss": NAN}
    for learners in ({"a": sound, "b": sound, "c": sound}, {"a": sound, "b": lost, "c": sound}):
        expected = [9] if lost in learners.values() else []
        assert read([rllib(9, learners)]).nans == expected
        assert read([{"training_iteration": 9, "learners": learners}]).nans == expected
    assert read([rllib(9, {"a": sound}) | {"loss": 1.5, "learners": {"b": lost}}]).nans == []


def test_rllib_impala() -> None:
    """An older one has no policies, a gradient norm, and no total loss."""
    seen = read(
        [rllib(1, {"grad_gnorm": 9.5, "cur_lr": 6e-4, "policy_loss": NAN, "entropy": 1.5})]
    )
    assert (seen.of("grad_norm"), seen.of("learning_rate"), seen.of("loss")) == ([9.5], [6e-4], [])
    assert seen.nans == []


def test_rllib_sac_has_no_total_loss() -> None:
    """Losses of actor and critic are components: negative ones are nothing to tell of."""
    learner = {"default_policy": {"actor_loss": -403.5, "critic_loss": 9.5}}
    seen = read([rllib(n, learner) for n in range(1, 40)])
    assert (seen.of("loss"), seen.transitions, seen.kinds) == ([], [], "T" * 39)


@pytest.mark.parametrize("spelt", [NAN, "NaN"])
def test_rllib_new_stack(spelt: object) -> None:
    """`learners`, a module each, and `env_runners`; a NaN of float32 is the text "null"."""
    module = {"total_loss": spelt, "gradients_default_optimizer_global_norm": 1.5,
              "default_optimizer_learning_rate": 5e-5, "policy_loss": "null"}  # fmt: skip
    row = {
        "env_runners": {"episode_return_mean": 9.5}, "training_iteration": 7,
        "learners": {"__all_modules__": {"num_env_steps_trained": 9}, "default_policy": module},
        "num_env_steps_sampled_lifetime": 28000,
    }  # fmt: skip
    seen = read([row])
    assert (seen.steps, seen.nans) == ([7], [7])
    assert seen.rows[0].values | {"loss": 0} == {
        "loss": 0, "grad_norm": 1.5, "learning_rate": 5e-5, "reward": 9.5,
    }  # fmt: skip
    module["total_loss"] = "null"
    assert read([row]).nans == []


def sb3(steps: int, **more: Any) -> dict[str, Any]:
    return {
        "time/iterations": steps // 2048,
        "time/total_timesteps": steps,
        "time/fps": 900,
    } | more


def test_stable_baselines3() -> None:
    """Steps of the environment; a negative entropy loss; evaluations of their own."""
    train = {"train/loss": 0.5, "train/policy_gradient_loss": -0.01, "train/learning_rate": 3e-4,
             "train/approx_kl": 0.01, "train/entropy_loss": -1.5, "rollout/ep_rew_mean": 20.5}  # fmt: skip
    seen = read(
        [
            sb3(2048, **{"rollout/ep_rew_mean": NAN}),
            sb3(4096, **train),
            sb3(4096, **{"eval/mean_reward": 9.5, "eval/mean_ep_length": 90.0}),
            sb3(6144, **train | {"train/loss": NAN}),
        ]
    )
    assert (seen.kinds, seen.steps, seen.nans) == ("TTVT", [2048, 4096, 4096, 6144], [6144])
    assert seen.rows[1].values == {
        "loss": 0.5, "learning_rate": 3e-4, "kl": 0.01, "entropy": 1.5, "reward": 20.5,
        "samples_per_second": 900.0,
    }  # fmt: skip


def test_stable_baselines3_truncates() -> None:
    """It opens its log anew: another segment, with checks that start afresh."""
    seen = Seen().feed(lines(sb3(n * 2048, **{"train/loss": 0.5}) for n in range(1, 6)))
    seen.reader.source_restarted()
    seen.feed(lines([sb3(2048, **{"train/loss": 0.5})]))
    assert seen.life == (2, 0)


def test_wandb_history() -> None:
    """Other keys from row to row, media among them; NaN as text; steps under `_step`."""
    table = {"_type": "table-file", "path": "media/table/a.json", "ncols": 3}
    seen = read(
        [
            {"_step": 0, "_runtime": 1.5, "_timestamp": 1.6e9, "train/loss": 2.5, "train/grad_norm": 1.5},
            {"_step": 1, "_runtime": 2.5, "_timestamp": 1.6e9 + 1, "system": 9},
            {"_step": 2, "samples": table, "completions": table, "train/loss": "NaN"},
            {"_step": 3, "eval/loss": "NaN", "train/learning_rate": 1e-4},
            {"train/learning_rate": 1e-4, "train/loss": 2.25, "_step": 4},
        ]
    )  # fmt: skip
    assert (seen.kinds, seen.steps, seen.nans) == ("T-TVT", [0, 1, 2, 3, 4], [2])
    assert (seen.rows[1].timestamp_s, list(seen.evals)) == (1.6e9 + 1, ["eval/loss"])


def test_wandb_exports_run_together() -> None:
    """Several runs in one file, one after the other."""
    once = [
        {"train/global_step": n, "_step": n // 10, "train/loss": 2.0} for n in range(10, 130, 10)
    ]
    seen = read(once * 2)
    assert (seen.life, seen.steps[:2]) == ((2, 0), [10, 20])
