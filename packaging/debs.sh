#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# packaging/debs.sh [OUT]: the .deb packages of a built build/release: jaxscope, jaxscope-gui, libjaxscope-dev.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$(realpath -m "${1:-dist}")
mkdir -p "$out"
cpack --config build/release/CPackConfig.cmake -B "$out"
rm -rf "$out/_CPack_Packages"
ls -l "$out"
