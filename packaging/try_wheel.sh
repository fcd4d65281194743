#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# packaging/try_wheel.sh [DIST]: installs the wheel of packaging/wheel.sh into a fresh environment with JAX, and uses it as whoever ran
# `pip install` would, with nothing of this folder in reach.
set -euo pipefail
cd "$(dirname "$0")/.."
wheel=$(realpath "$(ls "${1:-dist}"/jaxscope-*.whl | tail -1)")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check "$wheel[jax]" pytest
cd "$folder"
export PATH="$folder/venv/bin:$PATH" JAX_PLATFORMS=cpu
unset PYTHONPATH JAXSCOPE JAXSCOPE_DATA
jaxscope --version
jaxscope report sample:transformer_lm -d report --json >report.json
test -s report/report.html
cat >train.py <<'PYTHON'
import jax, jax.numpy as jnp
def loss(w, x):
    return jnp.sum(jnp.tanh(x @ w) ** 2)
def program():
    return dict(fn=jax.value_and_grad(loss), args=(jnp.ones((8, 8)), jnp.ones((4, 8))))
PYTHON
python -m jaxscope train.py:program -o train.jaxscope
jaxscope capture train.py:program -o again.jaxscope
jaxscope policies train.jaxscope
jaxscope run again.jaxscope >/dev/null
cat >test_train.py <<'PYTHON'
import jax.numpy as jnp, jaxscope, train
def test_peak():
    jaxscope.assert_peak(train.program()["fn"], train.program()["args"], limit="1M")
    assert jaxscope.analyze(train.loss, (jnp.ones((8, 8)), jnp.ones((4, 8))), differentiate=0).residuals().rows
PYTHON
pytest -q -p jaxscope.pytest_plugin --jaxscope-figures figures.json test_train.py
echo "the wheel works"
