"""The Kubernetes manifests: valid, one with the rest of deploy/, and with as few rights as can be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tailwatch.config import load_settings
from tests.deploy import prometheusrule
from tests.deploy.tools import DEPLOY, debian_tool, python_tool, run, said

HERE = DEPLOY / "kubernetes"
KUSTOMIZATION = yaml.safe_load((HERE / "kustomization.yml").read_text())
OPERATOR = {"podmonitor.yml", "prometheusrule.yml"}
"""Kinds that the Prometheus operator brings: no schema for them comes with Kubernetes."""


def load(name: str) -> list[dict[str, Any]]:
    return [dict(each) for each in yaml.safe_load_all((HERE / name).read_text())]


def pod() -> dict[str, Any]:
    (daemonset,) = load("daemonset.yml")
    return dict(daemonset["spec"]["template"]["spec"])


def container(kind: str = "containers") -> dict[str, Any]:
    (found,) = pod()[kind]
    return dict(found)


def built() -> dict[str, dict[str, Any]]:
    """Kind -> the resource, as kustomize puts them together."""
    result = run(debian_tool("kubectl", "kubernetes-client"), "kustomize", HERE)
    assert result.returncode == 0, said(result)
    return {each["kind"]: each for each in yaml.safe_load_all(result.stdout)}


def test_kubernetes_knows_every_field() -> None:
    """No manifest has a field or a value that the schemas of Kubernetes do not have."""
    names = [name for name in KUSTOMIZATION["resources"] if name not in OPERATOR]
    assert len(names) == 3
    result = run(python_tool("kubernetes-validate"), "--strict", *(HERE / name for name in names))
    assert result.returncode == 0, said(result)


def test_a_misspelt_field_is_noticed(tmp_path: Path) -> None:
    """The validator is not blind: with one letter wrong it refuses."""
    text = (HERE / "daemonset.yml").read_text()
    broken = tmp_path / "daemonset.yml"
    broken.write_text(text.replace("readOnlyRootFilesystem", "readOnlyRootFileSystem"))
    result = run(python_tool("kubernetes-validate"), "--strict", broken)
    assert result.returncode != 0
    assert "readOnlyRootFileSystem" in result.stdout + result.stderr


def test_kustomize_puts_it_together() -> None:
    """Everything that is in the directory is built, with the image and the settings put in."""
    resources = built()
    assert set(resources) == {
        "Namespace", "ServiceAccount", "ConfigMap", "DaemonSet", "NetworkPolicy", "PodMonitor",
        "PrometheusRule",
    }  # fmt: skip
    spec = resources["DaemonSet"]["spec"]["template"]["spec"]
    (image,) = KUSTOMIZATION["images"]
    for each in [*spec["initContainers"], *spec["containers"]]:
        assert each["image"] == f"{image['newName']}:{image['newTag']}"
    # Under a name that changes with its content, so that pods start anew with new settings.
    name = resources["ConfigMap"]["metadata"]["name"]
    assert name.startswith("tailwatch-")
    assert name in [v["configMap"]["name"] for v in spec["volumes"] if "configMap" in v]
    there = {path.name for path in HERE.iterdir()}
    assert there == {*KUSTOMIZATION["resources"], "kustomization.yml", "tailwatch.toml"}


def test_rules_are_the_same_as_for_prometheus() -> None:
    """The PrometheusRule is made out of the rules that are tested; nothing else is in it."""
    rule = (HERE / "prometheusrule.yml").read_text()
    assert rule == prometheusrule.made(), "python -m tests.deploy.prometheusrule makes it anew"
    rules = yaml.safe_load((DEPLOY / "prometheus" / "tailwatch.rules.yml").read_text())
    assert yaml.safe_load(rule)["spec"] == rules


def test_settings_are_valid_and_fit_the_pod() -> None:
    """The daemon accepts the settings, and what they name is mounted and open."""
    settings = load_settings({}, {}, str(HERE / "tailwatch.toml"))
    mounts = {each["mountPath"] for each in container()["volumeMounts"]}
    (port,) = container()["ports"]
    assert {*settings.paths, settings.state_dir} <= mounts
    assert settings.listen == f"0.0.0.0:{port['containerPort']}"
    assert container()["args"] == ["run", "--config", "/etc/tailwatch/tailwatch.toml"]
    assert set(KUSTOMIZATION["configMapGenerator"][0]["files"]) == {"tailwatch.toml"}


def test_pod_has_no_rights() -> None:
    """No root, no capability, no token, nothing to write to but the state; the runs are read-only."""
    spec, main = pod(), container()
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert spec["automountServiceAccountToken"] is False
    assert main["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert not {"hostNetwork", "hostPID", "hostIPC"} & set(spec)
    writable = {m["mountPath"] for m in main["volumeMounts"] if not m.get("readOnly")}
    assert writable == {"/var/lib/tailwatch", "/tmp"}


def test_root_gives_the_state_away_and_does_nothing_else() -> None:
    """What runs as root has one capability and sees one directory."""
    first = container("initContainers")
    assert first["command"][0] == "chown"
    assert first["securityContext"]["capabilities"] == {"drop": ["ALL"], "add": ["CHOWN"]}
    assert [each["mountPath"] for each in first["volumeMounts"]] == ["/var/lib/tailwatch"]
    user = pod()["securityContext"]
    assert first["command"][1] == f"{user['runAsUser']}:{user['runAsGroup']}"


def test_state_outlives_the_pod() -> None:
    """The state lies on the node: in the pod, each rollout would read all history again."""
    volumes = {each["name"]: each for each in pod()["volumes"]}
    (state,) = (m for m in container()["volumeMounts"] if m["mountPath"] == "/var/lib/tailwatch")
    assert volumes[state["name"]]["hostPath"]["type"] == "DirectoryOrCreate"


def test_trainer_goes_first() -> None:
    """The memory is bounded, the request is small, and no training pod is pushed off its node."""
    resources = container()["resources"]
    assert "memory" in resources["limits"]
    assert "cpu" not in resources["limits"]
    assert "priorityClassName" not in pod()


def test_webhook_is_a_file_that_may_be_missing() -> None:
    """The URL is no variable and no argument, can be read by the pod's user, and is optional."""
    volumes = {each["name"]: each for each in pod()["volumes"]}
    secret = volumes["webhook"]["secret"]
    assert secret["optional"] is True
    # Root's file for the group of the pod: 0440 in octal.
    assert secret["defaultMode"] == 0o440
    assert pod()["securityContext"]["fsGroup"] == pod()["securityContext"]["runAsGroup"]
    (variable,) = container()["env"]
    (mount,) = (m for m in container()["volumeMounts"] if m["name"] == "webhook")
    assert variable == {"name": "CREDENTIALS_DIRECTORY", "value": mount["mountPath"]}
    # Kubernetes would make a TAILWATCH_... variable for every service of that name.
    assert pod()["enableServiceLinks"] is False


@pytest.mark.parametrize("probe", ["startupProbe", "readinessProbe", "livenessProbe"])
def test_probes_ask_what_the_daemon_answers(probe: str) -> None:
    """Readiness waits for the first sweep, liveness for the engine; both at the open port."""
    asked = container()[probe]["httpGet"]
    assert asked["port"] == container()["ports"][0]["name"]
    assert asked["path"] == ("/-/healthy" if probe == "livenessProbe" else "/-/ready")


def test_prometheus_finds_the_pods_under_the_name_that_the_rules_ask_for() -> None:
    """The job is "tailwatch", the instance the node, and no label changes with the pod."""
    (monitor,) = load("podmonitor.yml")
    spec = monitor["spec"]
    labels = load("daemonset.yml")[0]["spec"]["template"]["metadata"]["labels"]
    assert spec["selector"]["matchLabels"].items() <= labels.items()
    assert labels[spec["jobLabel"]] == "tailwatch"
    (endpoint,) = spec["podMetricsEndpoints"]
    assert endpoint["port"] == container()["ports"][0]["name"]
    node, dropped = endpoint["relabelings"]
    assert (node["sourceLabels"], node["targetLabel"]) == (
        ["__meta_kubernetes_pod_node_name"], "instance",
    )  # fmt: skip
    assert set(dropped["regex"].split("|")) == {"pod", "container", "endpoint"}
    config = yaml.safe_load((DEPLOY / "prometheus" / "prometheus.yml").read_text())
    assert spec["sampleLimit"] == config["scrape_configs"][0]["sample_limit"]


def test_network_is_shut_both_ways() -> None:
    """In comes Prometheus to the one port; out go names, HTTPS and Alertmanager, not the cloud's own address."""
    (policy,) = load("networkpolicy.yml")
    spec = policy["spec"]
    assert set(spec["policyTypes"]) == {"Ingress", "Egress"}
    (ingress,) = spec["ingress"]
    assert [p["port"] for p in ingress["ports"]] == [container()["ports"][0]["containerPort"]]
    assert len(ingress["from"]) == 1
    blocks = [to["ipBlock"] for rule in spec["egress"] for to in rule["to"] if "ipBlock" in to]
    assert blocks == [{"cidr": "0.0.0.0/0", "except": ["169.254.0.0/16"]}]
    assert {p["port"] for rule in spec["egress"] for p in rule["ports"]} == {53, 443, 9093}
