# run COMMAND...: run the command, or only print it.
run() {
	if $checking; then
		return
	elif $dry_run; then
		{
			printf 'would run:'
			printf ' %q' "$@"
			printf '\n'
		} >&2
	else
		"$@"
	fi
}
