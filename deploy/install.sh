#!/bin/sh
# Installs tailwatch on this host for systemd, from the checkout that this file is in; again, to upgrade.
#
#   deploy/install.sh                     install or upgrade: /opt/tailwatch, /usr/bin/tailwatch, the units, the settings
#   deploy/install.sh --wheels DIR        the same without a network, from the wheels in DIR (pip wheel -w DIR 'CHECKOUT[auth]')
#   deploy/install.sh --uninstall         remove all that, keep settings, secrets and state
#   deploy/install.sh --uninstall --purge remove these too
#   deploy/install.sh --root DIR ...      do it below DIR and leave the running system alone: to see what it does
#
# PYTHON=... chooses the interpreter (3.11 or newer, not below a home: the service cannot see that).
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
root='' wheels='' uninstall='' purge=''
python=${PYTHON:-python3}

say() { printf '%s\n' "tailwatch install: $*"; }
die() {
  printf '%s\n' "tailwatch install: $*" >&2
  exit 1
}
usage() { sed -n '2,/^set -eu/s/^# \{0,1\}//p' "$0"; }

while [ $# -gt 0 ]; do
  case $1 in
    --root) [ $# -gt 1 ] || die "--root needs a directory"; root=${2%/}; shift ;;
    --wheels) [ $# -gt 1 ] || die "--wheels needs a directory"; wheels=$2; shift ;;
    --uninstall) uninstall=1 ;;
    --purge) purge=1 ;;
    -h | --help) usage; exit 0 ;;
    *) die "unknown option $1; --help shows them" ;;
  esac
  shift
done

home=$root/opt/tailwatch link=$root/usr/bin/tailwatch units=$root/etc/systemd/system settings=$root/etc/tailwatch

# Everything that speaks to the running system goes through here.
live() { [ -n "$root" ] || [ ! -d /run/systemd/system ] || "$@"; }

[ -n "$root" ] || [ "$(id -u)" -eq 0 ] || die "must be run as root"
[ -z "$purge" ] || [ -n "$uninstall" ] || die "--purge goes with --uninstall only"
[ ! -e "$home" ] || [ -f "$home/pyvenv.cfg" ] || die "$home is there and is none of ours"
if [ -e "$link" ] || [ -L "$link" ]; then
  [ "$(readlink "$link")" = /opt/tailwatch/bin/tailwatch ] || die "$link is there and is none of ours"
fi

if [ -n "$uninstall" ]; then
  live systemctl disable --quiet --now tailwatch.service 2>/dev/null || true
  live systemctl stop 'tailwatch@*.service' || true
  rm -f "$link" "$units/tailwatch.service" "$units/tailwatch@.service" "$root/etc/tmpfiles.d/tailwatch.conf"
  rm -f "$units"/multi-user.target.wants/tailwatch@*.service
  rm -rf "$home"
  if [ -n "$purge" ]; then
    rm -rf "$settings" "$units/tailwatch.service.d" "$units"/tailwatch@*.service.d
    rm -f "$root"/etc/default/tailwatch "$root"/etc/default/tailwatch-*
    rm -f "$root"/etc/credstore/tailwatch.webhook_url "$root"/etc/credstore/tailwatch.*.webhook_url
    # With DynamicUser= the state is below private, and what stands beside it is a link to there.
    rm -rf "$root"/var/lib/private/tailwatch "$root"/var/lib/private/tailwatch-* \
      "$root"/var/lib/tailwatch "$root"/var/lib/tailwatch-*
    say "removed, with settings, secrets and state"
  else
    say "removed; kept: $settings, $root/etc/credstore, drop-ins and $root/var/lib/tailwatch (--purge removes them)"
  fi
  live systemctl daemon-reload
  exit 0
fi

"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null ||
  die "$python is no Python of 3.11 or newer; PYTHON=... names another"
"$python" -c 'import ensurepip, venv' 2>/dev/null || die "$python has no venv; on Debian: apt install python3-venv"

# A home from an older Python is made anew: its packages would not be found.
[ ! -e "$home" ] || "$home/bin/python" -c '' 2>/dev/null || rm -rf "$home"
umask 022
mkdir -p "$root/opt" "$root/usr/bin" "$units" "$root/etc/tmpfiles.d"
"$python" -m venv "$home"
# With what passwords on the page take; from wheels, where that is among them.
if [ -n "$wheels" ]; then
  what=tailwatch
  for each in "$wheels"/bcrypt-*; do [ ! -e "$each" ] || what='tailwatch[auth]'; done
  "$home/bin/pip" install -q --disable-pip-version-check --upgrade --force-reinstall --no-index --find-links "$wheels" "$what"
else
  # A directory is installed again even under the same version.
  "$home/bin/pip" install -q --disable-pip-version-check --upgrade "${here}[auth]"
fi
ln -sfn /opt/tailwatch/bin/tailwatch "$link"

install -m 644 "$here/systemd/tailwatch.service" "$here/systemd/tailwatch@.service" "$units"
install -m 644 "$here/systemd/tmpfiles.d/tailwatch.conf" "$root/etc/tmpfiles.d/tailwatch.conf"
install -d -m 755 "$settings"
install -d -m 700 "$root/etc/credstore"
first=
if [ ! -e "$settings/tailwatch.toml" ]; then
  install -m 644 "$here/deploy/tailwatch.toml" "$settings/tailwatch.toml"
  first=1
fi

live systemctl daemon-reload
live systemctl try-restart tailwatch.service 'tailwatch@*.service'
say "$("$home/bin/tailwatch" --version) is in $home"
if [ -n "$first" ]; then
  say "now say in $settings/tailwatch.toml what to watch, put a webhook URL into"
  say "$root/etc/credstore/tailwatch.webhook_url (mode 600) if you want one, and: systemctl enable --now tailwatch"
fi
