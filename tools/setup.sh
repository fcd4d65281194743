# Sourced by run.sh and test.sh: what they need from the system, and how to build. Debian bookworm or later.
BUILD_PACKAGES=(g++ cmake ninja-build ccache pkg-config nlohmann-json3-dev libfmt-dev libcli11-dev libzstd-dev zlib1g-dev
  llvm-14-dev libdnnl-dev liblapacke-dev libgraphviz-dev graphviz librsvg2-bin qtbase5-dev libqt5svg5-dev
  fonts-inter fonts-jetbrains-mono)
TEST_PACKAGES=(libgtest-dev libbenchmark-dev clang-14 libclang-rt-14-dev clang-format-14 clang-tidy-14 python3 python3-venv xvfb git ca-certificates)

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
  [ "$(id -u)" -eq 0 ] || sudo=sudo
  $sudo apt-get update -q
  DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -q --no-install-recommends "${missing[@]}"
}

# build NAME DIRECTORY "TARGETS" CMAKE-ARGUMENTS...: no targets mean everything.
build() {
  local name=$1 dir=$2 targets=$3
  shift 3
  say "Building ($name)"
  cmake -S . -B "$dir" -G Ninja "$@" >"/tmp/jaxscope-cmake-$$.log" 2>&1 || { cat "/tmp/jaxscope-cmake-$$.log"; return 1; }
  rm -f "/tmp/jaxscope-cmake-$$.log"
  # shellcheck disable=SC2086  # targets are a list
  ninja -C "$dir" --quiet $targets
}

# python_environment DIRECTORY REQUIREMENTS: a virtual environment, made again when the requirements changed.
python_environment() {
  cmp -s "$2" "$1/made-from.txt" && return
  say "Making a virtual environment from $2"
  python3 -m venv --clear "$1"
  "$1/bin/pip" install -q --disable-pip-version-check -r "$2"
  cp "$2" "$1/made-from.txt"
}
