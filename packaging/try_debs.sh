#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# packaging/try_debs.sh [DEBS] [CHROOT]: installs the packages of packaging/debs.sh one after the other in a fresh Debian, and uses each as
# whoever installed it would. Needs root and debootstrap. CHROOT, where given, is a debootstrapped folder to use; else one is made and removed.
set -euo pipefail
cd "$(dirname "$0")/.."
debs=$(realpath "${1:-dist}")
chroot=${2:-}
if [ -z "$chroot" ]; then
  chroot=$(mktemp -d)
  trap 'umount "$chroot/proc" 2>/dev/null || true; rm -rf --one-file-system "$chroot"' EXIT
  debootstrap --variant=minbase bookworm "$chroot" >/dev/null
fi
cp -r /etc/apt/apt.conf.d/. "$chroot/etc/apt/apt.conf.d/"  # proxies and certificates of this machine
mountpoint -q "$chroot/proc" || mount -t proc proc "$chroot/proc"
rm -rf "$chroot/try" && mkdir "$chroot/try"
cp "$debs"/*.deb "$chroot/try"
cp -r samples/cpp/package "$chroot/try/package"
cp /etc/resolv.conf "$chroot/etc/"
chroot "$chroot" bash -euo pipefail -s <<'INSIDE'
export DEBIAN_FRONTEND=noninteractive QT_QPA_PLATFORM=offscreen
cd /try
said() { printf '%s\n' "$*"; }
install() { apt-get install -y -q --no-install-recommends "$@" >install.log 2>&1 || { tail -20 install.log; exit 1; }; }
apt-get update -q >/dev/null
apt-get purge -y -q jaxscope jaxscope-gui libjaxscope-dev >/dev/null 2>&1 || true  # of an earlier try in the same folder
install ./jaxscope_*.deb
jaxscope --version
jaxscope report sample:transformer_lm -d report --json >report.json
test -s report/report.html -a -s report/split.svg
jaxscope check sample:transformer_lm --max-peak 1G
if jaxscope check sample:transformer_lm --max-peak 1M >/dev/null; then said "expected exit code 1"; exit 1; fi
jaxscope run sample:mlp --repeat 2 >/dev/null
said "jaxscope works"
if jaxscope open sample:mlp 2>open.txt; then said "expected no window yet"; exit 1; fi
grep -q 'install the package jaxscope-gui' open.txt
install ./jaxscope-gui_*.deb
XDG_RUNTIME_DIR=/try jaxscope-gui sample:transformer_lm --tab split --screenshot window.png 2>/dev/null
test -s window.png
said "jaxscope-gui works"
install g++ cmake make ./libjaxscope-dev_*.deb
cmake -S package -B build >/dev/null
cmake --build build >/dev/null
program=$(find build -maxdepth 1 -type f -executable)
"$program"
jaxscope inspect train.jaxscope >/dev/null
said "libjaxscope-dev works"
apt-get purge -y -q jaxscope jaxscope-gui libjaxscope-dev >/dev/null 2>&1
left=$(find /usr -iname '*jaxscope*')
test -z "$left" || { said "left behind: $left"; exit 1; }
said "nothing is left behind"
INSIDE
