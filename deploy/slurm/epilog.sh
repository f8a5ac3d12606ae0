#!/bin/sh
# Slurm Epilog (slurmd runs it as root): the job no longer runs here; what is wrong with its metric files is a line in
# the system's log. That covers jobs that were too short for a scrape, and nodes without the daemon.
#
# Install as /etc/slurm/epilog.d/50-tailwatch.sh (Epilog=/etc/slurm/epilog.d/*.sh). An epilog that fails drains the
# node: this one never does, and it takes at most TAILWATCH_CHECK_SECONDS (20; 0: no check).
set -u
directory=${TAILWATCH_TEXTFILES:-/var/lib/prometheus/node-exporter}
seconds=${TAILWATCH_CHECK_SECONDS:-20}
tailwatch=${TAILWATCH:-/usr/bin/tailwatch}
[ -n "${SLURM_JOB_ID:-}" ] || exit 0
rm -f "$directory/slurm_job_$SLURM_JOB_ID.prom" 2>/dev/null

[ "$seconds" -gt 0 ] 2>/dev/null && [ -x "$tailwatch" ] && [ -n "${SLURM_JOB_WORK_DIR:-}" ] || exit 0
# As the user of the job: with what that user may read, and with nothing of root's.
as_user() { "$@"; }
if [ "$(id -u)" -eq 0 ]; then
  [ -n "${SLURM_JOB_UID:-}" ] && [ -n "${SLURM_JOB_GID:-}" ] || exit 0
  as_user() { setpriv --reuid="$SLURM_JOB_UID" --regid="$SLURM_JOB_GID" --init-groups --no-new-privs -- "$@"; }
fi
found=$(cd / && as_user timeout --kill-after=2 "$seconds" nice -n 19 "$tailwatch" check -- "$SLURM_JOB_WORK_DIR" 2>/dev/null </dev/null)
# 1: a critical finding. All else, a directory without metric files too, is no news.
[ $? -eq 1 ] && printf '%s\n' "$found" | head -n 20 | logger -t tailwatch -p user.warning "--id=$SLURM_JOB_ID"
exit 0
