#!/usr/bin/env bash
# All tests. --full: also what takes longer (sanitised threads, clang-tidy over everything, all of JAX's harnesses).
set -euo pipefail
cd "$(dirname "$0")"
. tools/setup.sh
full=; [ "${1:-}" = --full ] && full=1
install_packages "${BUILD_PACKAGES[@]}" "${TEST_PACKAGES[@]}"
python_environment
export QT_QPA_PLATFORM=offscreen JAX_PLATFORMS=cpu

say "Format"
git ls-files '*.cpp' '*.h' | xargs -r clang-format-14 --dry-run -Werror

build "address and undefined behaviour sanitizers" build/asan -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-O1 -g1" \
  -DJAXSCOPE_SANITIZE=address,undefined -DJAXSCOPE_GUI=OFF -DJAXSCOPE_BENCH=OFF
say "Unit and golden tests (sanitised)"
(cd build/asan && ctest --output-on-failure -j2)

build release build/release -DCMAKE_BUILD_TYPE=Release -DJAXSCOPE_TESTS=ON -DJAXSCOPE_BENCH=ON
say "Window smoke tests and the rest (release)"
(cd build/release && ctest --output-on-failure -j2)

say "Python: the capture package, and jaxscope against real JAX"
JAXSCOPE=$PWD/build/release/jaxscope PYTHONPATH=app/capture .venv/bin/python -m pytest -q tests/capture tests/differential

build "fuzzers" build/fuzz -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_CXX_COMPILER=clang++-14 -DCMAKE_C_COMPILER=clang-14 -DJAXSCOPE_FUZZ=ON -DJAXSCOPE_GUI=OFF \
  -DJAXSCOPE_TESTS=ON -DJAXSCOPE_BENCH=OFF
say "Fuzzing"
for target in build/fuzz/fuzz_*; do
  [ -x "$target" ] && "$target" -max_total_time=30 -rss_limit_mb=4096 -timeout=20 "tests/fuzz/corpus/$(basename "$target")"
done

if [ -n "$full" ]; then
  say "clang-tidy"
  git ls-files 'core/*.cpp' 'app/*.cpp' 'views/*.cpp' | xargs -P2 -n4 clang-tidy-14 -p build/release --quiet
fi
say "All tests passed."
