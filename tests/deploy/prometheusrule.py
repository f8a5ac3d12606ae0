"""Makes deploy/kubernetes/prometheusrule.yml out of the rules: `python -m tests.deploy.prometheusrule`."""

from __future__ import annotations

from pathlib import Path

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
RULES = DEPLOY / "prometheus" / "tailwatch.rules.yml"
MADE = DEPLOY / "kubernetes" / "prometheusrule.yml"
HEAD = """\
# Made out of ../prometheus/tailwatch.rules.yml by `python -m tests.deploy.prometheusrule`: change that one.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: tailwatch
  namespace: tailwatch
  labels: {app.kubernetes.io/name: tailwatch}
spec:
"""


def made() -> str:
    """The rules as a resource of the Prometheus operator: the same text, two columns further."""
    lines = RULES.read_text().split("\ngroups:\n", 1)[1].splitlines()
    return HEAD + "".join(f"  {line}".rstrip() + "\n" for line in ["groups:", *lines])


if __name__ == "__main__":
    MADE.write_text(made())
