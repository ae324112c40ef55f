// Skips reads what `go test -json` prints, prints what `go test` would, and then how many tests skipped and
// why. A skip is easily overlooked: a tool that is no longer installed silently turns a test into nothing.
// With -most it fails if more tests skipped than expected on a machine that has everything.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	most := flag.Int("most", -1, "fail if more tests than this skipped (default: any number)")
	flag.Parse()

	s, err := read(os.Stdin, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "skips:", err)
		os.Exit(1)
	}

	s.print(os.Stdout)
	if *most >= 0 && s.skipped > *most {
		fmt.Fprintf(os.Stdout, "%d tests skipped, and at most %d are expected: install what they lack "+
			"(make deps), or raise SKIPS in the Makefile if a test needs what no machine here has\n", s.skipped, *most)
		os.Exit(1)
	}
	if s.failed || s.packages == 0 {
		os.Exit(1)
	}
}
