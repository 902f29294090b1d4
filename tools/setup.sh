# Sourced by the demo and the tests: installs what is missing and makes the virtual environment.
# Works as root on Debian and Ubuntu with rustup and python3; installs nothing that is there.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export PATH="$HOME/.cargo/bin:$PATH"
venv="$PWD/.venv"

# What LLVM's archives are linked with; crates/llvm/build.rs finds the newest of these versions.
llvm_majors="22 21 20 19"

have_llvm() {
    local major
    [ -e /usr/include/zstd.h ] && [ -e /usr/include/zlib.h ] || return 1
    for major in $llvm_majors; do
        command -v "llvm-config-$major" >/dev/null && return 0
    done
    return 1
}

# The newest LLVM that this release of Debian or Ubuntu offers.
llvm_package() {
    local major
    for major in $llvm_majors; do
        if [ -n "$(apt-cache madison "llvm-$major-dev" 2>/dev/null)" ]; then
            echo "llvm-$major-dev"
            return
        fi
    done
    echo "no package of LLVM among versions $llvm_majors is on offer" >&2
    return 1
}

need_packages() {
    local missing=() llvm
    command -v cc >/dev/null || missing+=(gcc libc6-dev)
    # For the C++ library that LLVM is linked with.
    command -v g++ >/dev/null || missing+=(g++)
    python3 -c 'import ensurepip, venv' 2>/dev/null || missing+=(python3-venv)
    if [ ${#missing[@]} -gt 0 ] || ! have_llvm; then
        apt-get update -q
        if ! have_llvm; then
            llvm="$(llvm_package)"
            missing+=("$llvm" libzstd-dev zlib1g-dev)
        fi
        echo "installing ${missing[*]}"
        DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends "${missing[@]}"
    fi
}

# A browser for the tests of `rxla view`, which say that they were skipped if there is none.
need_chromium() {
    local name
    for name in chromium chromium-browser google-chrome google-chrome-stable; do
        if command -v "$name" >/dev/null; then return; fi
    done
    echo "installing chromium"
    { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends chromium; } >/dev/null ||
        echo "chromium cannot be installed"
}

# make_venv EXTRA: the virtual environment with the wheel of this tree and the extra's packages.
make_venv() {
    [ -x "$venv/bin/python" ] || python3 -m venv "$venv"
    "$venv/bin/pip" install -q --disable-pip-version-check "./python[$1]"
}
