# Sourced by the demo and the tests: installs what is missing and makes the virtual environment.
# Works as root on Debian and Ubuntu with rustup and python3; installs nothing that is there.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export PATH="$HOME/.cargo/bin:$PATH"
venv="$PWD/.venv"

need_packages() {
    local missing=()
    command -v cc >/dev/null || missing+=(gcc libc6-dev)
    python3 -c 'import ensurepip, venv' 2>/dev/null || missing+=(python3-venv)
    if [ ${#missing[@]} -gt 0 ]; then
        echo "installing ${missing[*]}"
        apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -qy "${missing[@]}"
    fi
}

# make_venv EXTRA: the virtual environment with the wheel of this tree and the extra's packages.
make_venv() {
    [ -x "$venv/bin/python" ] || python3 -m venv "$venv"
    "$venv/bin/pip" install -q --disable-pip-version-check "./python[$1]"
}
