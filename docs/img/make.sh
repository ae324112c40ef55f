#!/bin/bash
# Makes the screenshots of the README anew: make.sh PLIMSOLL, the program to take them of.
# The diagnosis of examples/postgres-checkpoint as a page, light and dark, by headless Chromium
# (Debian: chromium-headless-shell). Bytes differ with fonts and versions of it.
set -euo pipefail
plimsoll=$(realpath "${1:?usage: make.sh PLIMSOLL}")
cd "$(dirname "$0")/../.."

for name in chromium-headless-shell chromium chromium-browser google-chrome; do
	if command -v "$name" >/dev/null; then browser=$name && break; fi
done
if [[ -z ${browser:-} ]]; then
	echo "screenshots: no Chromium (Debian: apt-get install chromium-headless-shell)" >&2
	exit 1
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$plimsoll" diagnose examples/postgres-checkpoint -o html >"$work/page.html"

shot() { # shot NAME SCHEME: 0 is dark, 1 is light
	"$browser" --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking \
		--disable-component-update --disable-sync --hide-scrollbars --user-data-dir="$work/$1" --window-size=1120,940 \
		--blink-settings="preferredColorScheme=$2" --screenshot="$work/$1.png" "file://$work/page.html" 2>/dev/null
	local size
	size=$(stat -c %s "$work/$1.png")
	if ((size > 150000)); then
		echo "screenshots: $1.png has $size bytes, and is to have 150,000 at most" >&2
		exit 1
	fi
	mv "$work/$1.png" "docs/img/$1.png"
	echo "docs/img/$1.png, $size bytes"
}
shot diagnosis-dark 0
shot diagnosis-light 1
