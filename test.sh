#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# All tests. --full: also what takes longer (all of JAX's harnesses, older versions of JAX, longer fuzzing, the thread sanitizer, clang-tidy).
set -euo pipefail
cd "$(dirname "$0")"
. tools/setup.sh
full= release=tests
if [ "${1:-}" = --full ]; then full=1 release=full && export JAXSCOPE_FULL=1; fi
install_packages "${BUILD_PACKAGES[@]}" "${TEST_PACKAGES[@]}"
python_environment .venv tests/requirements.txt &  # pip keeps one core busy, and nothing needs it before the tests
environment_made=$!
export QT_QPA_PLATFORM=offscreen JAX_PLATFORMS=cpu
# Random samples (tests/support/seed.py): one commit's are the same everywhere.
export JAXSCOPE_SAMPLE=${JAXSCOPE_SAMPLE:-$((16#$(git rev-parse HEAD | cut -c1-5)))}
CCACHE_DIR=${CCACHE_DIR:-$(ccache --get-config cache_dir)} && export CCACHE_DIR  # the compiler's stays where it is
XDG_CACHE_HOME=$(mktemp -d) && export XDG_CACHE_HOME  # compiled code of this run, and no other

say "Format"
git ls-files '*.cpp' '*.h' | xargs -r clang-format-14 --dry-run -Werror

build asan build/asan
wait "$environment_made"
say "Unit and golden tests (sanitised)"
(cd build/asan && ASAN_OPTIONS=detect_leaks=1 ctest --output-on-failure -j2)

build "$release" build/release
say "Window smoke tests and the rest (release)"
(cd build/release && ctest --output-on-failure -j2)

say "The command line, jaxscope against real JAX, and the capture package"
export JAXSCOPE=$PWD/build/release/jaxscope
tests() { PYTHONPATH=app/capture "${environment:-.venv}/bin/python" -m pytest -q "$@"; }
# Two files at a time: JAX, and most commands, keep one core busy. Tests of signals and of time have the machine to themselves.
tests -m alone tests/cli
tests -n 2 --dist loadfile -m "not alone" tests/cli
tests -n 2 --dist loadfile tests/differential
tests -n 2 --dist loadfile tests/capture
if [ -n "$full" ]; then
  for version in 0.4.30 0.6.2; do
    say "The capture package under JAX $version"
    python_environment .venv-$version tests/requirements-$version.txt
    environment=.venv-$version tests tests/capture
  done
fi

# fuzz SECONDS BUILD: every fuzzer that stands in BUILD, two at a time.
fuzz() { printf '%s\n' "$2"/tests/fuzz/jaxscope_fuzz_* | xargs -P2 -I{} bash -euo pipefail -c 'run_fuzzer "$@"' bash "$1" {}; }
run_fuzzer() {
  local target=${2##*_fuzz_} corpus seeds
  corpus=$(mktemp -d)
  seeds=tests/fuzz/corpus/$target
  [ "$target" = transform ] && seeds="$seeds tests/transforms/behaviours tests/golden/primitives tests/golden/transform"
  # shellcheck disable=SC2086
  "$2" -max_total_time="$1" -timeout=20 -rss_limit_mb=4096 -seed=$((JAXSCOPE_SAMPLE % 1000000 + 1)) -verbosity=0 -print_final_stats=1 \
    "$corpus" $seeds >"$corpus.log" 2>&1 || { cat "$corpus.log" && echo "$2 failed" && return 1; }
  cat "$corpus.log" && rm -rf "$corpus" "$corpus.log"
}
export -f run_fuzzer
say "Fuzzing"
fuzz 10 build/asan
if [ -n "$full" ]; then
  build fuzz build/fuzz
  fuzz 300 build/fuzz
fi

if [ -n "$full" ]; then
  build tsan build/tsan jaxscope_test_pool jaxscope_test_concurrent
  say "The executor's threads, and jitted functions called by many threads (thread sanitizer)"
  export TSAN_OPTIONS="halt_on_error=1 suppressions=$PWD/tests/concurrent/threads.supp"
  build/tsan/tests/jaxscope_test_pool
  # The library's own threads alone: OpenMP's, which the sanitizer doesn't know, stay out.
  OMP_NUM_THREADS=1 build/tsan/tests/jaxscope_test_concurrent
  if OMP_NUM_THREADS=1 build/tsan/tests/jaxscope_test_concurrent --gtest_also_run_disabled_tests --gtest_filter='*PlantedRace*' \
    >build/tsan/race.log 2>&1 || ! grep -q 'WARNING: ThreadSanitizer: data race' build/tsan/race.log; then
    cat build/tsan/race.log && say "The thread sanitizer did not see the planted race." && exit 1
  fi
  say "Packages, installed where nothing else is"
  install_packages debootstrap
  packaging/debs.sh build/dist
  packaging/try_debs.sh build/dist
  packaging/wheel.sh build/dist
  packaging/try_wheel.sh build/dist
  say "clang-tidy"
  cmake --preset tidy >build/tidy.log
  git ls-files 'core/*.cpp' 'app/*.cpp' 'views/*.cpp' | xargs -P2 -n4 clang-tidy-14 -p build/tidy --quiet
fi
say "All tests passed."
