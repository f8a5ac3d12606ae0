#!/bin/sh
# On the host of Prometheus, every few minutes (cron, a timer): the GPU nodes that Slurm knows become a list of targets
# for file_sd_configs. Nothing to install, nothing to log in to.
#
#   targets.sh /etc/prometheus/tailwatch-targets.json
#
# PORT (10836) is where tailwatch listens. One target for each node, in however many partitions it is: a node that is
# scraped twice would double every series. When Slurm does not answer, the last list stays: no list is no alert.
set -eu
out=${1:?usage: targets.sh FILE}
nodes=$(sinfo --noheader --Node --Format='NodeList:128,Gres:256')
list=$(printf '%s\n' "$nodes" | awk -v port="${PORT:-10836}" '
  $2 ~ /gpu/ && !seen[$1]++ { printf "%s\"%s:%s\"", (n++ ? ",\n  " : "\n  "), $1, port }')
if [ -z "$list" ]; then
  echo "targets.sh: Slurm names no node with a GPU; $out stays as it is" >&2
  exit 1
fi
printf '[{"targets": [%s\n]}]\n' "$list" >"$out.tmp"
# Prometheus reads it again when it is replaced.
mv -f "$out.tmp" "$out"
