say() { printf '%s\n' "$*" >&2; }

refuse() {
	say "refused: $*"
	exit 1
}
