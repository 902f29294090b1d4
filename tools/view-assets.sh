#!/usr/bin/env bash
# The layout library in the page of `rxla view`: gets the released package from npm and checks that
# what stands in crates/view/assets is that, byte for byte. With `--update`, puts it there.
set -euo pipefail
cd "$(dirname "$0")/../crates/view/assets/dagre"
package="@dagrejs/dagre@3.1.3"
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
(cd "$folder" && npm pack --silent "$package" >/dev/null && tar xzf ./*.tgz)
for file in dist/dagre.min.js LICENSE; do
    if [ "${1:-}" = --update ]; then cp "$folder/package/$file" .; fi
    cmp "$folder/package/$file" "$(basename "$file")"
done
echo "crates/view/assets/dagre is $package"
