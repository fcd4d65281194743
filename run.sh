#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds jaxscope and shows what it does on a bundled real program; opens the window where there is a display.
set -euo pipefail
cd "$(dirname "$0")"
. tools/setup.sh
install_packages "${BUILD_PACKAGES[@]}"
# What ./test.sh built is taken as it is: with other flags everything would be compiled again.
preset=release
if grep -qs '^JAXSCOPE_TESTS:BOOL=ON' build/release/CMakeCache.txt; then preset=tests; fi
build "$preset" build/release jaxscope jaxscope-gui jaxscope-layout
say "jaxscope report sample:transformer_lm"
build/release/jaxscope report sample:transformer_lm -d report
say "The report lies in report/: report.html, report.json, split.svg"
if [ -n "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ] && [ -z "${CI:-}" ]; then
  build/release/jaxscope open sample:transformer_lm
else
  say "No display here. Where there is one: build/release/jaxscope open sample:transformer_lm"
fi
