#!/bin/sh
# Slurm Prolog (slurmd runs it as root): says which job runs on this node, for the textfile collector of node_exporter.
# Then a dashboard or an alert can name the job and its user beside a run, and the run needs no job id in its name.
#
# Install as /etc/slurm/prolog.d/50-tailwatch.sh (Prolog=/etc/slurm/prolog.d/*.sh). A prolog that fails drains the node:
# this one never does.
set -u
directory=${TAILWATCH_TEXTFILES:-/var/lib/prometheus/node-exporter}
[ -n "${SLURM_JOB_ID:-}" ] && [ -d "$directory" ] || exit 0

# What a user may choose must not end the label, nor make node_exporter refuse the file: no line ends, no broken UTF-8,
# and \ and " escaped.
label() { printf '%s' "$1" | iconv -c -f utf-8 -t utf-8 | LC_ALL=C tr -d '\000-\037\177' | sed 's/[\\"]/\\&/g'; }

file=$directory/slurm_job_$SLURM_JOB_ID.prom
{
  printf '# HELP slurm_job_info 1 while the job runs on this node.\n# TYPE slurm_job_info gauge\n'
  printf 'slurm_job_info{job_id="%s",user="%s",work_dir="%s"} 1\n' \
    "$(label "$SLURM_JOB_ID")" "$(label "${SLURM_JOB_USER:-}")" "$(label "${SLURM_JOB_WORK_DIR:-}")"
} >"$file.tmp" 2>/dev/null && mv -f "$file.tmp" "$file" 2>/dev/null
exit 0
