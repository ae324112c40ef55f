// Package fsynctext parses the output of pg_test_fsync (PostgreSQL 9.1 and later,
// src/bin/pg_test_fsync): the time of one write and its sync, by method. That is what a commit
// waits for.
package fsynctext

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/record/benchmark"
)

// Format describes the report. By default each of five methods runs for 5 s.
var Format = benchmark.Format{Name: name, Took: 30 * time.Second, Parse: parse}

const name = "pg_test_fsync"

var (
	section = regexp.MustCompile(`^Compare file sync methods using one (\d+)kB write:`)
	row     = regexp.MustCompile(`^(open_datasync|fdatasync|fsync|fsync_writethrough|open_sync)\s+([0-9.]+) ops/sec(?:\s+([0-9.]+) usecs/op)?`)
)

var sniffed = regexp.MustCompile(`(?m)^(Compare file sync methods using|\s*(open_datasync|fdatasync|open_sync)\s+[0-9.]+ ops/sec)`)

// Sniff reports whether head begins such a report. It looks for fixed strings first, because most
// files are something else and the regular expression is slow.
func Sniff(_ string, head []byte) bool {
	if !bytes.Contains(head, []byte(" ops/sec")) && !bytes.Contains(head, []byte("Compare file sync methods")) {
		return false
	}
	return sniffed.Match(head)
}

// parse reads the section for one write, which is what a commit does. It assumes that an excerpt
// without any heading is that section.
func parse(text string) ([]benchmark.Figure, error) {
	// Other sections compare larger or several writes, which a commit does not make.
	var out []benchmark.Figure
	within := !section.MatchString(text) && !strings.Contains(text, "Compare ")
	n := 0
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		n++
		if strings.HasPrefix(line, "Compare ") || strings.HasPrefix(line, "Test ") ||
			strings.HasPrefix(line, "Non-sync") {
			within = section.MatchString(line)
			continue
		}

		m := row.FindStringSubmatch(line)
		if m == nil || !within {
			continue
		}

		rate, err := strconv.ParseFloat(m[2], 64)
		if err != nil || !(rate > 0) {
			return nil, fmt.Errorf("line %d: invalid rate %q", n, m[2])
		}

		out = append(out, benchmark.Figure{Name: "bench_sync_latency_mean_seconds",
			Labels: []string{"benchmark", name, "method", m[1]}, Value: 1 / rate})
	}

	return out, nil
}
