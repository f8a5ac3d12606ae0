"""The command line: results on stdout, one line on stderr, exit codes as promised."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from tailwatch import __version__
from tailwatch.checks import CATEGORIES, CHECKS
from tailwatch.cli import main

from .e2e.daemon import command, environment, row, write

NAN = float("nan")


def invoke(*args: str, stdin: str | bytes | None = None, code: int = 0) -> Result:
    """Run a command in this process, without settings of the machine's own."""
    result = CliRunner(env={"TAILWATCH_CONFIG": ""}).invoke(main, args, input=stdin)
    assert code == result.exit_code, result.output
    return result


def strict(text: str) -> Any:
    """Parse JSON, refusing the bare tokens that JSON does not have."""

    def refuse(token: str) -> None:
        raise AssertionError(f"bare {token}")

    return json.loads(text, parse_constant=refuse)


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """A healthy run, a NaN, a young run, a data set, and a file that is no JSON."""
    write(tmp_path / "good" / "m.jsonl", "".join(row(n, 3 - n / 50) for n in range(1, 51)))
    bad = [row(n, NAN if n == 5 else 2 - n / 100) for n in range(1, 41)]
    write(tmp_path / "bad" / "m.jsonl", "".join(bad) + "torn line\n")
    write(tmp_path / "young" / "m.jsonl", row(1, 2.0))
    write(tmp_path / "data" / "train.jsonl", '{"text": "hello"}\n' * 20)
    write(tmp_path / "data" / "notes.jsonl", "no json\n")
    return tmp_path


def test_check_prints_one_document(runs: Path) -> None:
    """`check --format json` has the fields of the contract, for every file below a directory."""
    result = invoke("check", "--format", "json", str(runs), code=1)
    document = strict(result.stdout)
    bad, good, young = document["runs"]
    (finding,) = bad["findings"]

    assert document["version"] == 1
    assert [r["run"] for r in document["runs"]] == ["bad/m", "good/m", "young/m"]
    assert {
        "run": "bad/m", "file": str(runs / "bad" / "m.jsonl"), "rows": 40, "bad_lines": 1,
        "segments": 1, "first_step": 1, "last_step": 40, "run_config": None,
    }.items() <= bad.items()  # fmt: skip
    assert {
        "category": "nan_loss", "severity": "critical", "step": 5, "row": 5,
        "offset": len("".join(row(n, 2 - n / 100) for n in range(1, 5))),
        "evidence": {"loss": "NaN", "rows": 1},
    }.items() <= finding.items()  # fmt: skip
    assert {"message", "suggestion"} <= set(finding)
    assert [entry["category"] for entry in bad["history"]] == ["nan_loss"]
    assert {"segment": 1, "step": 5, "resolved_step": 25}.items() <= bad["history"][0].items()
    assert good["findings"] == []
    assert [f["category"] for f in young["findings"]] == ["too_few_steps"]
    assert [
        {"file": str(runs / "data" / "notes.jsonl"), "reason": "no JSON lines"},
        {"file": str(runs / "data" / "train.jsonl"), "reason": "no training fields"},
    ] == document["skipped"]


@pytest.mark.parametrize(
    ("severity", "path", "code"),
    [
        ("critical", "bad", 1), ("critical", "young", 0), ("info", "young", 1),
        ("warning", "young", 0), ("never", "bad", 0), ("info", "good", 0),
    ],
)  # fmt: skip
def test_fail_on(runs: Path, severity: str, path: str, code: int) -> None:
    """The exit code is 1 at a finding of the severity given or worse, and else 0."""
    invoke("check", "--fail-on", severity, str(runs / path), code=code)


def test_inspect_answers_for_any_file(runs: Path) -> None:
    """A file that is no metric file is an answer and exit 0; a path that cannot be read is exit 2."""
    result = invoke("inspect", "--format", "json", str(runs))
    files = {file["run"]: file for file in strict(result.stdout)["files"]}

    assert {run: file["reason"] for run, file in files.items()} == {
        "bad/m": None, "data/notes": "no_json", "data/train": "data_set",
        "good/m": None, "young/m": None,
    }  # fmt: skip
    assert "data set: text" in invoke("inspect", str(runs / "data" / "train.jsonl")).stdout
    result = invoke("inspect", str(runs / "good"), str(runs / "n\x1b"), code=2)
    assert "a metric file" in result.stdout
    assert result.stderr == f"tailwatch: {runs}/n\\x1b: No such file or directory\n"


def test_inspect_reads_standard_input(runs: Path) -> None:
    """`-` is a file without a name: nothing is said of patterns."""
    data = (runs / "bad" / "m.jsonl").read_bytes()
    result = subprocess.run(
        command("inspect", "-"), input=data, capture_output=True, check=False, env=environment()
    )

    assert (result.returncode, result.stderr) == (0, b"")
    assert result.stdout.startswith(b"stdin  -\n  a metric file\n  trainer ")
    assert b"\x1b" not in result.stdout


def test_a_named_file_that_is_no_metric_file(runs: Path) -> None:
    """A data set that was named is exit 2; in a directory it is only skipped."""
    result = invoke("check", str(runs / "data" / "train.jsonl"), code=2)

    assert "train.jsonl: no training fields" in result.stdout


def test_an_empty_file_has_no_metrics(tmp_path: Path) -> None:
    """An empty file that was named is a run without a row, and that is all that is said."""
    (tmp_path / "m.jsonl").touch()
    (tmp_path / "config.json").write_text('{"training": {"lr": 9}}')
    document = strict(invoke("check", "--format", "json", str(tmp_path / "m.jsonl")).stdout)

    assert [f["category"] for f in document["runs"][0]["findings"]] == ["no_metrics"]
    assert None is document["runs"][0]["findings"][0]["step"]


def test_standard_input(runs: Path) -> None:
    """`-` reads standard input, in `check` and in `replay`."""
    data = (runs / "bad" / "m.jsonl").read_bytes()
    for args, key in ((("check", "--format", "json", "-"), "runs"), (("replay", "-"), None)):
        result = subprocess.run(
            command(*args), input=data, capture_output=True, check=False, env=environment()
        )
        assert result.stderr == b""
        if key:
            assert strict(result.stdout.decode())[key][0]["run"] == "stdin"
        else:
            assert b"nan_loss firing" in result.stdout


def test_replay_prints_transitions(runs: Path) -> None:
    """`replay --format json` is one object a line, in order, at the rows where they happen."""
    result = invoke("replay", "--format", "json", str(runs / "bad" / "m.jsonl"))
    lines = [strict(line) for line in result.stdout.splitlines()]

    assert [(t["transition"], t["row"]) for t in lines] == [("firing", 5), ("resolved", 25)]
    assert {
        "run", "segment", "category", "severity", "transition", "row", "step", "offset", "message",
    } <= set(lines[0])  # fmt: skip


def test_run_configuration(tmp_path: Path) -> None:
    """The learning rate comes from the file beside the metrics, or from --run-config."""
    write(tmp_path / "exp" / "m.jsonl", "".join(row(n, 3 - n / 50) for n in range(1, 51)))
    (tmp_path / "exp" / "config.yaml").write_text("training:\n  lr: 2e-1\n")
    (tmp_path / "other.json").write_text('{"lr": 1e-9}')
    beside = strict(invoke("check", "--format", "json", str(tmp_path / "exp")).stdout)["runs"][0]
    other = str(tmp_path / "other.json")
    given = invoke("check", "--format", "json", "--run-config", other, str(tmp_path / "exp"))

    assert [f["category"] for f in beside["findings"]] == ["lr_too_high"]
    assert str(tmp_path / "exp" / "config.yaml") == beside["run_config"]
    run = strict(given.stdout)["runs"][0]
    assert (["lr_too_low"], other) == (
        [f["category"] for f in run["findings"]],
        run["run_config"],
    )
    result = invoke("check", "--run-config", "/nowhere", str(tmp_path / "exp"), code=2)
    assert "tailwatch: /nowhere: cannot be read as a run configuration" in result.stderr


def test_the_report_names_the_configuration_and_only_its_numbers(tmp_path: Path) -> None:
    """Which file, which rate, how many steps; nothing else of the file, which may be secret."""
    name = "exp\n\udcff"
    directory = tmp_path / name
    write(directory / "m.jsonl", "".join(row(n, 3 - n / 50) for n in range(1, 21)))
    secret = {"api_key": "hunter2", "learning_rate": 2e-4, "hub_token": "hunter2", "save_steps": 7}
    write(directory / "args.json", json.dumps(secret | {"max_steps": 400, "lr_note": "hunter2"}))
    text = invoke("check", str(tmp_path)).stdout
    document = invoke("check", "--format", "json", str(tmp_path)).stdout

    shown = f"{tmp_path}/exp\\n\\xff/args.json"
    assert f"  configured in {shown}: learning rate 0.0002, 400 steps planned\n" in text
    assert strict(document)["runs"][0]["run_config"] == shown
    assert "hunter2" not in text + document


def test_a_run_without_configuration_says_nothing_of_one(runs: Path) -> None:
    """Neither does one whose files beside it hold nothing that is read."""
    write(runs / "good" / "config.json", '{"hidden_size": 64}')
    assert "configured" not in invoke("check", str(runs), code=1).stdout
    given = invoke("check", "--run-config", str(runs / "good" / "config.json"), str(runs / "good"))
    assert "config.json: neither rate nor steps\n" in given.stdout


def test_whole_file(tmp_path: Path) -> None:
    """A restart begins a segment, and with --whole-file it does not."""
    lines = "".join(row(n, NAN if n == 3 else 2.0 - n / 50) for n in range(1, 21))
    write(tmp_path / "m.jsonl", lines + "".join(row(n, 2.0 - n / 50) for n in range(1, 21)))
    apart = strict(invoke("check", "--format", "json", str(tmp_path)).stdout)["runs"][0]
    whole = invoke("check", "--format", "json", "--whole-file", str(tmp_path), code=1)

    assert (apart["segments"], apart["findings"]) == (2, [])
    assert [entry["segment"] for entry in apart["history"]] == [1]
    assert [f["category"] for f in strict(whole.stdout)["runs"][0]["findings"]] == ["nan_loss"]


def test_checks_can_be_chosen(runs: Path) -> None:
    """--checks takes a set or categories; an unknown one is named with the nearest."""
    bad = str(runs / "bad" / "m.jsonl")
    invoke("check", "--checks", "loss_flat,loss_diverged", bad)
    invoke("check", "--checks", "seed", bad, code=1)
    result = invoke("check", "--checks", "nan_los", bad, code=2)

    assert "unknown category 'nan_los'; did you mean nan_loss?" in result.stderr


def test_undecodable_names(tmp_path: Path) -> None:
    """A file name of any bytes is shown escaped, in text and in JSON."""
    name = b"caf\xff\n.jsonl"
    (tmp_path / "x").mkdir()
    with open(bytes(tmp_path / "x") + b"/" + name, "w") as file:
        file.write(row(1, 2.0))
    text = subprocess.run(
        command("check", str(tmp_path)), capture_output=True, check=False, env=environment()
    )
    document = subprocess.run(
        command("check", "--format", "json", str(tmp_path)),
        capture_output=True, check=False, env=environment(),
    )  # fmt: skip

    assert text.returncode == 0, text.stderr
    assert rb"x/caf\xff\n" in text.stdout
    assert strict(document.stdout.decode())["runs"][0]["run"] == r"x/caf\xff\n"


def test_checks_and_explain() -> None:
    """`checks` lists every check, and `explain` has a page for each."""
    document = strict(invoke("checks", "--format", "json").stdout)
    text = invoke("checks").stdout

    assert list(CATEGORIES) == [c["category"] for c in document["checks"]]
    for check in CHECKS:
        assert check.category in text
        page = invoke("explain", check.category).stdout
        for part in ("What it finds:", "What it does not find:", "What to do:", check.suggestion):
            assert part in page
    assert "did you mean loss_flat?" in invoke("explain", "loss_flt", code=2).stderr


def test_config_masks_secrets(tmp_path: Path) -> None:
    """`config` shows every setting, and of a secret only that it is there."""
    file = tmp_path / "t.toml"
    file.write_text('[[receivers]]\nurl = "https://hooks.slack.com/services/T0/B0/xyz"\n')
    text = invoke("config", "--config", str(file)).stdout
    document = strict(invoke("config", "--config", str(file), "--format", "json").stdout)

    assert "receivers[0].type = slack" in text
    assert document["receivers"][0]["url"] == "<secret>"
    assert "xyz" not in text + str(document)


def test_every_command_has_help() -> None:
    """--help works everywhere and says what each command does."""
    assert isinstance(main, click.Group)
    for name in main.commands:
        assert "Usage:" in invoke(name, "--help").stdout
        said = {o.name: o.help for o in main.commands[name].params if isinstance(o, click.Option)}
        assert [option for option, text in said.items() if not text] == []
    assert f"tailwatch {__version__}\n" == invoke("--version").stdout


def test_our_own_bug_shows_no_traceback(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error that we did not foresee is one line, with its place and without its values."""

    def broken(*args: Any) -> None:
        raise KeyError("a secret value")

    monkeypatch.setattr("tailwatch.documents.check_document", broken)
    result = invoke("check", "--format", "json", str(runs), code=70)

    assert "internal error, please report it: KeyError at test_cli.py:" in result.stderr
    assert "secret" not in result.output


def test_a_closed_pipe_is_no_trouble(runs: Path) -> None:
    """`tailwatch checks | head -0` ends without a word."""
    process = subprocess.Popen(
        command("replay", "--format", "json", *[str(runs / "bad" / "m.jsonl")] * 200),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(),
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    said = process.stderr.read()
    process.stderr.close()
    process.wait()

    assert said == b""


@pytest.mark.parametrize("rivals", [(), ("--rivals",)])
def test_bench(runs: Path, rivals: tuple[str, ...]) -> None:
    """`bench` measures on the logs of a directory, in all three formats alike."""
    document = strict(
        invoke("bench", str(runs), "--format", "json", "--seed", "3", *rivals).stdout
    )
    text, markdown = (
        invoke("bench", str(runs), "--format", style, *rivals).stdout
        for style in ("text", "markdown")
    )

    assert (document["seed"], document["runs"], document["rows"]) == (3, 3, 91)
    assert document["checks"]["nan_loss"]["findings"] == 1
    assert bool(rivals) == bool(document["rivals"]) == ("OLMo-core" in text)
    assert text.startswith("3 runs, 91 rows, seed 1\n")
    assert "| nan_loss | critical | 1 |" in markdown


def test_bench_without_a_log(runs: Path) -> None:
    """2 where no log can be read, the reason on stderr and nothing else said."""
    empty = invoke("bench", str(runs / "data"), code=2)
    gone = invoke("bench", str(runs / "gone"), code=2)

    assert (empty.stdout, gone.stdout) == ("", "")
    assert f"tailwatch: {runs}/data: no metric log in it that can be read\n" == empty.stderr
    assert "gone: No such file or directory" in gone.stderr


def test_bench_measures_the_checks_that_are_named(runs: Path) -> None:
    """--checks and --exclude are for `bench` as for `check`."""
    result = invoke(
        "bench", str(runs), "--checks", "seed", "--exclude", "bad/**", "--format", "json"
    )
    document = strict(result.stdout)

    assert document["runs"] == 2
    assert set(document["checks"]) == {c.category for c in CHECKS if c.check_set == "seed"}
