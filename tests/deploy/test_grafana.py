"""The Grafana files, checked without Grafana: shape, references, secrets, and what the alerts do.

Grafana ignores a misspelt key in a provisioning file without a word, so the schemas below refuse
every key that they do not know. They follow the Go types that Grafana reads the files with.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from tests.deploy.tools import DEPLOY, promtool, run, said

GRAFANA = DEPLOY / "grafana"
PROVISIONING = GRAFANA / "provisioning"
FILES = sorted(PROVISIONING.rglob("*.y*ml"))
DASHBOARDS = sorted((GRAFANA / "dashboards").glob("*.json"))
CASES = Path(__file__).with_name("grafana.rules.test.yml")

Json = dict[str, Any]


def obj(required: str, **properties: object) -> Json:
    """A schema of an object with these keys and no others; the required ones in one string."""
    return {
        "type": "object",
        "additionalProperties": False,
        "required": required.split(),
        "properties": properties,
    }


def many(items: object, at_least: int = 0) -> Json:
    return {"type": "array", "items": items, "minItems": at_least}


TEXT = {"type": "string"}
NUMBER = {"type": "number"}
INTEGER = {"type": "integer"}
YES_NO = {"type": "boolean"}
TEXTS = {"type": "object", "additionalProperties": TEXT}
FREE = {"type": "object"}
SPAN = {"type": "string", "pattern": r"^(\d+(ms|s|m|h|d|w|y))+$"}
UID = {"type": "string", "pattern": r"^[A-Za-z0-9_-]{1,40}$"}
DATASOURCE = obj("type uid", type=TEXT, uid=TEXT)

CONDITION = obj(
    "type evaluator",
    type={"const": "query"},
    evaluator=obj("type params", type={"enum": ["gt", "lt"]}, params=many(NUMBER, 1)),
    operator=obj("type", type={"enum": ["and", "or"]}),
    query=obj("params", params=many(TEXT, 1)),
    reducer=obj("type params", type=TEXT, params=many(TEXT)),
)
MODEL = obj(
    "refId",
    refId=TEXT,
    instant={"const": True},
    range={"const": False},
    editorMode={"enum": ["code", "builder"]},
    intervalMs=INTEGER,
    maxDataPoints=INTEGER,
    expr=TEXT,
    type={"const": "threshold"},
    expression=TEXT,
    datasource=DATASOURCE,
    conditions=many(CONDITION, 1),
)
QUERY = obj(
    "refId datasourceUid model relativeTimeRange",
    refId=TEXT,
    datasourceUid=TEXT,
    model=MODEL,
    relativeTimeRange=obj("from to", **{"from": INTEGER, "to": INTEGER}),
)
RULE = obj(
    "uid title condition data for noDataState execErrState notification_settings",
    uid=UID,
    title={"type": "string", "maxLength": 190},
    condition=TEXT,
    data=many(QUERY, 2),
    noDataState={"enum": ["NoData", "Alerting", "OK", "KeepLast"]},
    execErrState={"enum": ["Error", "Alerting", "OK", "KeepLast"]},
    missing_series_evals_to_resolve={"type": "integer", "minimum": 1},
    annotations=TEXTS,
    labels=TEXTS,
    notification_settings=obj(
        "receiver",
        receiver=TEXT,
        group_by=many(TEXT),
        group_wait=SPAN,
        group_interval=SPAN,
        repeat_interval=SPAN,
    ),
    **{"for": SPAN},
)
CONTACT_POINT = obj(
    "name receivers",
    orgId=INTEGER,
    name=TEXT,
    receivers=many(
        obj(
            "uid type settings",
            uid=UID,
            type={"const": "slack"},
            settings=obj("url", url=TEXT, title=TEXT, text=TEXT),
            disableResolveMessage=YES_NO,
        ),
        1,
    ),
)
# "policies" is left out on purpose: provisioning it replaces the policy tree of the organisation.
ALERTING = obj(
    "apiVersion",
    apiVersion={"const": 1},
    groups=many(
        obj(
            "name folder interval rules",
            orgId=INTEGER,
            name=TEXT,
            folder=TEXT,
            interval=SPAN,
            rules=many(RULE, 1),
        )
    ),
    contactPoints=many(CONTACT_POINT, 1),
)
DATASOURCES = obj(
    "apiVersion datasources",
    apiVersion={"const": 1},
    datasources=many(
        obj(
            "name uid type access url",
            name=TEXT,
            uid=UID,
            type={"const": "prometheus"},
            access={"const": "proxy"},
            url=TEXT,
            isDefault=YES_NO,
            editable=YES_NO,
            jsonData=FREE,
        ),
        1,
    ),
)
PROVIDERS = obj(
    "apiVersion providers",
    apiVersion={"const": 1},
    providers=many(
        obj(
            "name type options",
            name=TEXT,
            folder=TEXT,
            type={"const": "file"},
            allowUiUpdates=YES_NO,
            disableDeletion=YES_NO,
            updateIntervalSeconds=INTEGER,
            options=obj("path", path=TEXT),
        ),
        1,
    ),
)
SCHEMAS = {"alerting": ALERTING, "datasources": DATASOURCES, "dashboards": PROVIDERS}

TARGET = obj(
    "refId datasource expr legendFormat",
    refId=TEXT,
    datasource=DATASOURCE,
    expr=TEXT,
    legendFormat=TEXT,
    instant=YES_NO,
    range=YES_NO,
    format={"enum": ["table", "time_series"]},
)
PLACE = obj("x y w h", x=INTEGER, y=INTEGER, w=INTEGER, h=INTEGER)
PANEL = obj(
    "id type title gridPos",
    id=INTEGER,
    type={"enum": ["row", "stat", "state-timeline", "table", "bargauge", "timeseries"]},
    title=TEXT,
    description=TEXT,
    gridPos=PLACE,
    datasource=DATASOURCE,
    targets=many(TARGET, 1),
    fieldConfig=obj("defaults overrides", defaults=FREE, overrides=many(FREE)),
    options=FREE,
    transformations=many(obj("id options", id=TEXT, options=FREE)),
    collapsed=YES_NO,
    panels=many(FREE),
)
DASHBOARD = obj(
    "uid title panels schemaVersion templating time",
    uid=UID,
    title=TEXT,
    tags=many(TEXT),
    schemaVersion={"type": "integer", "minimum": 36},
    version=INTEGER,
    editable=YES_NO,
    graphTooltip={"enum": [0, 1, 2]},
    timezone=TEXT,
    refresh=TEXT,
    time=obj("from to", **{"from": TEXT, "to": TEXT}),
    templating=obj("list", list=many(FREE)),
    annotations=obj("list", list=many(FREE)),
    links=many(FREE),
    panels=many(PANEL, 1),
)


def provisioned(kind: str) -> Iterator[Json]:
    """The entries under one top-level key of all provisioning files."""
    for path in FILES:
        yield from yaml.safe_load(path.read_text()).get(kind, [])


def alert_rules() -> list[Json]:
    return [rule for group in provisioned("groups") for rule in group["rules"]]


def panels(dashboard: Json) -> list[Json]:
    """The panels that show something: all but the headings."""
    return [panel for panel in dashboard["panels"] if panel["type"] != "row"]


def as_prometheus_rule(rule: Json) -> Json:
    """The Prometheus rule that fires when Grafana's query and threshold do."""
    queries = {query["refId"]: query["model"] for query in rule["data"]}
    threshold = queries[rule["condition"]]
    evaluator = threshold["conditions"][0]["evaluator"]
    sign = {"gt": ">", "lt": "<"}[evaluator["type"]]
    return {
        "alert": rule["uid"],
        "expr": f"({queries[threshold['expression']]['expr']}) {sign} {evaluator['params'][0]}",
        "for": rule["for"],
        "labels": rule["labels"],
        "annotations": rule["annotations"],
    }


def write_rules(path: Path, rules: list[Json]) -> None:
    group = {"name": "grafana", "interval": "1m", "rules": rules}
    path.write_text(yaml.safe_dump({"groups": [group]}))


@pytest.mark.parametrize("path", FILES, ids=lambda p: f"{p.parent.name}/{p.name}")
def test_provisioning_files_have_the_shape_that_grafana_reads(path: Path) -> None:
    """A provisioning file has the keys and types that Grafana knows, and no misspelt ones."""
    document = yaml.safe_load(path.read_text())
    errors = jsonschema.Draft202012Validator(SCHEMAS[path.parent.name]).iter_errors(document)
    assert [f"{e.json_path}: {e.message}" for e in errors] == []


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda p: p.name)
def test_dashboards_have_the_shape_that_grafana_reads(path: Path) -> None:
    """A dashboard has the keys and types that Grafana knows, and no misspelt ones."""
    document = json.loads(path.read_text())
    errors = jsonschema.Draft202012Validator(DASHBOARD).iter_errors(document)
    assert [f"{e.json_path}: {e.message}" for e in errors] == []


def test_no_uid_is_used_twice() -> None:
    """Two things of one kind never share a uid: the second would replace the first."""
    kinds = {
        "rules": [rule["uid"] for rule in alert_rules()],
        "receivers": [r["uid"] for c in provisioned("contactPoints") for r in c["receivers"]],
        "data sources": [source["uid"] for source in provisioned("datasources")],
        "dashboards": [json.loads(path.read_text())["uid"] for path in DASHBOARDS],
    }
    for kind, uids in kinds.items():
        assert uids, f"no {kind} found"
        assert len(uids) == len(set(uids)), f"a uid of {kind} is used twice: {uids}"


@pytest.mark.parametrize("rule", alert_rules(), ids=lambda rule: rule["uid"])
def test_alert_rules_refer_only_to_what_exists(rule: Json) -> None:
    """The condition, the expressions, the data source and the receiver of a rule all exist."""
    refs = {query["refId"] for query in rule["data"]}
    sources = {source["uid"] for source in provisioned("datasources")}
    assert len(refs) == len(rule["data"])
    assert rule["condition"] in refs
    for query in rule["data"]:
        assert query["model"]["refId"] == query["refId"]
        if query["datasourceUid"] == "__expr__":
            assert query["model"]["expression"] in refs
        else:
            assert query["datasourceUid"] in sources
            assert "expr" in query["model"]
    receivers = {point["name"] for point in provisioned("contactPoints")}
    assert rule["notification_settings"]["receiver"] in receivers


def test_no_file_holds_a_secret() -> None:
    """Every URL of a receiver comes from Grafana's environment."""
    for path in [*FILES, *DASHBOARDS]:
        assert not re.search(r"hooks\.slack\.com|xox[a-z]-|password", path.read_text()), path
    for point in provisioned("contactPoints"):
        for receiver in point["receivers"]:
            assert re.fullmatch(r"\$\{[A-Z_]+\}", receiver["settings"]["url"])


def test_end_of_a_finding_alert_is_not_told() -> None:
    """Nobody reads "resolved" because 15 minutes have passed: the run may still be NaN."""
    points = {point["name"]: point for point in provisioned("contactPoints")}
    (rule,) = [r for r in alert_rules() if r["uid"] == "tailwatch_critical_finding"]
    for receiver in points[rule["notification_settings"]["receiver"]]["receivers"]:
        assert receiver["disableResolveMessage"] is True


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda p: p.name)
def test_dashboard_panels_fit_together(path: Path) -> None:
    """Panels have an id of their own, stay inside the 24 columns and lie on no other panel."""
    dashboard = json.loads(path.read_text())
    ids = [panel["id"] for panel in dashboard["panels"]]
    assert len(ids) == len(set(ids))
    taken: dict[tuple[int, int], str] = {}
    for panel in dashboard["panels"]:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24, panel["title"]
        for x in range(place["x"], place["x"] + place["w"]):
            for y in range(place["y"], place["y"] + place["h"]):
                other = taken.setdefault((x, y), panel["title"])
                assert other == panel["title"], f"{panel['title']} lies on {other}"


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda p: p.name)
def test_dashboard_queries_refer_only_to_what_exists(path: Path) -> None:
    """Every data source and every variable that a dashboard names is one of its variables."""
    text = path.read_text()
    dashboard = json.loads(text)
    variables = {variable["name"] for variable in dashboard["templating"]["list"]}
    for panel in panels(dashboard):
        refs = [target["refId"] for target in panel["targets"]]
        assert len(refs) == len(set(refs)), panel["title"]
        for source in [panel["datasource"], *(t["datasource"] for t in panel["targets"])]:
            assert source == {"type": "prometheus", "uid": "${datasource}"}, panel["title"]
    used = set(re.findall(r"\$\{?(?!__)(\w+)", text))
    assert used == variables


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda p: p.name)
def test_dashboard_queries_are_valid(path: Path, tmp_path: Path) -> None:
    """promtool can parse every query of a dashboard once Grafana's variables are filled in."""
    dashboard = json.loads(path.read_text())
    queries = [target["expr"] for panel in panels(dashboard) for target in panel["targets"]]
    queries += [a["expr"] for a in dashboard["annotations"]["list"] if "expr" in a]
    rules: list[Json] = []
    for number, query in enumerate(queries):
        filled = re.sub(r"\$__(rate_interval|range|interval)", "5m", query).replace("$run", ".*")
        rules.append({"record": f"panel:query:{number}", "expr": filled})
    write_rules(tmp_path / "panels.yml", rules)
    result = run(promtool(), "check", "rules", tmp_path / "panels.yml")
    assert result.returncode == 0, said(result)
    assert f"{len(queries)} rules found" in result.stdout


def test_alert_rules_do_the_right_thing_in_every_case(tmp_path: Path) -> None:
    """Grafana's rules, as Prometheus rules, are right in every case that we know."""
    write_rules(tmp_path / "grafana.rules.yml", [as_prometheus_rule(r) for r in alert_rules()])
    shutil.copy(CASES, tmp_path)
    result = run(promtool(), "test", "rules", CASES.name, cwd=tmp_path)
    assert result.returncode == 0, said(result)
    assert "SUCCESS" in result.stdout


def test_every_alert_rule_is_seen_firing_and_not_firing() -> None:
    """The unit tests show each rule once firing and once quiet."""
    checks = {
        (check["alertname"], bool(check["exp_alerts"]))
        for case in yaml.safe_load(CASES.read_text())["tests"]
        for check in case["alert_rule_test"]
    }
    assert checks == {(rule["uid"], fires) for rule in alert_rules() for fires in (True, False)}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("< bool 15 * 60", "< bool 0", id="arm 1 gone"),
        pytest.param("> bool (", "> bool (1e9 +", id="arm 2 gone"),
        pytest.param("< bool 6 * 3600", "< bool 1e9", id="no limit to a finding's age"),
        pytest.param('{severity="critical"}', "", id="every severity pages"),
        pytest.param("[15m]", "[1m]", id="no bridge over failed scrapes"),
    ],
)
def test_broken_alert_rule_is_noticed(tmp_path: Path, old: str, new: str) -> None:
    """A Grafana rule with one piece broken is still valid, but a unit test turns red."""
    rules = [as_prometheus_rule(rule) for rule in alert_rules()]
    broken = [{**rule, "expr": rule["expr"].replace(old, new)} for rule in rules]
    assert broken != rules, "the rules changed: this mutation breaks nothing any more"
    write_rules(tmp_path / "grafana.rules.yml", broken)
    shutil.copy(CASES, tmp_path)
    valid = run(promtool(), "check", "rules", "grafana.rules.yml", cwd=tmp_path)
    assert valid.returncode == 0, said(valid)
    result = run(promtool(), "test", "rules", CASES.name, cwd=tmp_path)
    assert result.returncode != 0, said(result)
    assert "FAILED" in result.stdout + result.stderr, said(result)


@pytest.mark.parametrize("rule", alert_rules(), ids=lambda rule: rule["uid"])
def test_query_of_an_alert_rule_never_filters(rule: Json) -> None:
    """A query keeps its series when the alert ends, since Grafana resolves series that vanish."""
    (expr,) = [q["model"]["expr"] for q in rule["data"] if "expr" in q["model"]]
    without_labels = re.sub(r"\{[^}]*\}", "", expr)
    comparisons = re.findall(r"(?:[<>]=?|[=!]=)(?!\s*bool)", without_labels)
    assert comparisons == []
