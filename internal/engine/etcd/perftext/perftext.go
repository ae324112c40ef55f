// Package perftext parses the output of `etcdctl check perf` (etcd 3.4 to 3.8,
// etcdctl/ctlv3/command/check.go), with or without a progress bar and surrounding text.
package perftext

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/record/benchmark"
)

// Format describes the report. A check runs for 60 s.
var Format = benchmark.Format{Name: name, Took: time.Minute, Parse: parse}

const name = "etcdctl check perf"

var (
	throughput = regexp.MustCompile(`(PASS: Throughput is|FAIL: Throughput too low:) (\d+) writes/s`)
	slowest    = regexp.MustCompile(`Slowest request took (?:too long: )?([0-9.]+)s`)
	stddev     = regexp.MustCompile(`Stddev (?:is|too high:) ([0-9.]+)s`)
	errs       = regexp.MustCompile(`^FAIL: ERROR\((.*)\) -> (\d+)`)
	verdict    = regexp.MustCompile(`^(PASS|FAIL)$`)
)

// Sniff reports whether head begins such a report. It looks for a fixed string first, because most
// files are something else and the regular expression is slow.
func Sniff(_ string, head []byte) bool {
	return bytes.Contains(head, []byte("Throughput ")) && throughput.Match(head) && slowest.Match(head)
}

// loads are the check's target rates and client counts: s, m, l, xl.
var loads = []struct{ rate, clients float64 }{{150, 50}, {1000, 200}, {8000, 500}, {15000, 1000}}

// passes is the share of the target rate that passes.
const passes = 0.9

func parse(text string) ([]benchmark.Figure, error) {
	var out []benchmark.Figure
	add := func(metric string, value float64) {
		out = append(out, benchmark.Figure{Name: metric, Value: value,
			Labels: []string{"benchmark", name, "engine", "etcd"}})
	}

	n := 0
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		n++
		number := func(s string) (float64, error) {
			x, err := strconv.ParseFloat(s, 64)
			if err != nil {
				return 0, fmt.Errorf("line %d: %q is not a number", n, s)
			}
			return x, nil
		}

		for _, m := range []struct {
			re   *regexp.Regexp
			name string
			at   int
		}{{throughput, "bench_writes_per_second", 2}, {slowest, "bench_write_slowest_seconds", 1},
			{stddev, "bench_write_stddev_seconds", 1}, {errs, "bench_errors", 2}} {
			found := m.re.FindStringSubmatch(line)
			if found == nil {
				continue
			}

			x, err := number(found[m.at])
			if err != nil {
				return nil, err
			}

			add(m.name, x)
			// The rate that was requested is not in the output, but follows from the load's size.
			if m.re == throughput {
				asked, clients := load(x, strings.HasPrefix(found[1], "PASS"))
				add("bench_writes_asked_per_second", asked)
				add("bench_clients", clients)
			}
		}

		if m := verdict.FindStringSubmatch(line); m != nil {
			passed := 0.0
			if m[1] == "PASS" {
				passed = 1
			}
			add("bench_passed", passed)
		}
	}

	return out, nil
}

// load guesses the load, which the report does not name: the smallest that fits the rate.
func load(rate float64, passed bool) (asked, clients float64) {
	for _, x := range loads {
		if passed && rate <= x.rate*1.1 && rate >= passes*x.rate || !passed && rate <= passes*x.rate {
			return x.rate, x.clients
		}
	}
	last := loads[len(loads)-1]
	return last.rate, last.clients
}
