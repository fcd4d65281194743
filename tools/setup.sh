# SPDX-License-Identifier: Apache-2.0
# Sourced by run.sh and test.sh: what they need from the system, and how to build. Debian bookworm or later.
BUILD_PACKAGES=(g++ cmake ninja-build ccache pkg-config nlohmann-json3-dev libfmt-dev libcli11-dev libzstd-dev zlib1g-dev
  llvm-14-dev libdnnl-dev liblapacke-dev libopenblas0-serial libgraphviz-dev graphviz librsvg2-bin qtbase5-dev libqt5svg5-dev libkf5syntaxhighlighting-dev
  fonts-inter fonts-jetbrains-mono)
TEST_PACKAGES=(libgtest-dev libbenchmark-dev clang-14 libclang-rt-14-dev clang-format-14 clang-tidy-14 python3 python3-venv xvfb git ca-certificates chromium openmpi-bin)

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }

# install_packages NAME...: asks apt only for those that are missing.
install_packages() {
  local missing=()
  for p in "$@"; do
    dpkg-query -W -f='${Status}' "$p" 2>/dev/null | grep -q 'ok installed' || missing+=("$p")
  done
  [ ${#missing[@]} -eq 0 ] && return
  say "Installing ${missing[*]}"
  local sudo=
  if [ "$(id -u)" -ne 0 ]; then
    sudo=sudo
    if [ -t 0 ]; then
      read -r -p "This calls apt-get as root (sudo). Go on? [y/N] " answer
      [[ $answer == [yY]* ]] || { echo "Not installed. By hand: sudo apt-get install --no-install-recommends ${missing[*]}" >&2; return 1; }
    fi
  fi
  $sudo apt-get update -q
  DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -q --no-install-recommends "${missing[@]}"
}

# build PRESET DIRECTORY TARGETS...: a preset of CMakePresets.json, which builds in DIRECTORY; no targets mean everything.
build() {
  local preset=$1 dir=$2
  shift 2
  say "Building ($preset)"
  cmake --preset "$preset" >"/tmp/jaxscope-cmake-$$.log" 2>&1 || { cat "/tmp/jaxscope-cmake-$$.log"; return 1; }
  rm -f "/tmp/jaxscope-cmake-$$.log"
  ninja -C "$dir" --quiet "$@"
}

# python_environment DIRECTORY REQUIREMENTS: a virtual environment, made again when the requirements changed.
python_environment() {
  cmp -s "$2" "$1/made-from.txt" && return
  say "Making a virtual environment from $2"
  python3 -m venv --clear "$1"
  "$1/bin/pip" install -q --disable-pip-version-check -r "$2"
  cp "$2" "$1/made-from.txt"
}
