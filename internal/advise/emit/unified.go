package emit

import (
	"bytes"
	"fmt"

	"github.com/rogpeppe/go-internal/diff"
)

// unified returns the difference of two texts in the format of diff -u and git, or "" if there is none.
// A file that does not exist is /dev/null. It takes O(n log n) time, so the size needs no limit.
func unified(name string, before, after []byte, was, is bool) string {
	if was == is && bytes.Equal(before, after) {
		return ""
	}

	from, to := "a/"+name, "b/"+name
	if !was {
		from = "/dev/null"
	}

	if !is {
		to = "/dev/null"
	}

	text := diff.Diff(from, before, to, after)
	if text == nil {
		return fmt.Sprintf("--- %s\n+++ %s\n", from, to)
	}

	_, text, _ = bytes.Cut(text, []byte("\n")) // its first line is a command line
	return string(text)
}
