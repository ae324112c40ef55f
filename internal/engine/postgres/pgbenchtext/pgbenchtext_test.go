package pgbenchtext

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/record/benchmark"
)

// parsed returns the intervals of a text, one line each.
func parsed(f benchmark.LogFormat, text string) (out []string, bad int) {
	p := f.New(time.UTC)
	add := func(x benchmark.Interval) {
		at := fmt.Sprint(x.EndS)
		if !x.End.IsZero() {
			at = fmt.Sprint(x.End.UnixMilli())
		}
		out = append(out, fmt.Sprintf("%s %g n=%.5g waited=%.5g max=%.5g busy=%.5g", at, x.LengthS, x.Count, x.WaitedS,
			x.MaxS, x.Waiting))
	}
	for line := range strings.Lines(text) {
		if p.Line([]byte(strings.TrimRight(line, "\n")), add) != nil {
			bad++
		}
	}
	p.End(add)
	return out, bad
}

const reported = `pgbench (15.4)
starting vacuum...end.
progress: 1.0 s, 1000.0 tps, lat 8.000 ms stddev 2.000, 0 failed
progress: 2.0 s, 0.0 tps, lat 0.000 ms stddev 0.000, 0 failed
progress: 3.0 s, 990.0 tps, lat 8.080 ms stddev 2.000, 0 failed
transaction type: <builtin: TPC-B (sort of)>
number of clients: 8
duration: 3 s
number of transactions actually processed: 1990
latency average = 12.000 ms
tps = 663.300000 (without initial connection time)
`

const logged = `0 0 5000 0 1795226400 5000
1 0 2500000 0 1795226402 500000
0 1 skipped 0 1795226402 600000
0 2 1000 0 1795226403 1000
`

const summed = `1795226400 100 500000 3000000000 4000 9000
1795226410 0 0 0 0 0
1795226420 50 400000 3000000000 4000 19000
`

// Every format gives completions, their waiting time and, if all clients are always busy, their number.
func TestForms(t *testing.T) {
	for name, c := range map[string]struct {
		format benchmark.LogFormat
		sniff  func([]byte) bool
		text   string
		want   []string
	}{
		"progress": {Report, SniffReport, reported, []string{
			"1 1 n=1000 waited=8 max=0 busy=8", "2 1 n=0 waited=0 max=0 busy=8", "3 1 n=990 waited=7.9992 max=0 busy=8"}},
		"paced": {Report, SniffReport, strings.ReplaceAll(reported, ", 0 failed", ", lag 0.100 ms"), []string{
			"1 1 n=1000 waited=8 max=0 busy=NaN", "2 1 n=0 waited=0 max=0 busy=NaN", "3 1 n=990 waited=7.9992 max=0 busy=NaN"}},
		"time stamps": {Report, SniffReport, "progress: 1795226401.500 s, 10.0 tps, lat 1.0 ms stddev 0.1\nprogress: 1795226402.500 s, 20.0 tps, lat 1.0 ms stddev 0.1\n",
			[]string{"1795226401500 1 n=10 waited=0.01 max=0 busy=NaN", "1795226402500 1 n=20 waited=0.02 max=0 busy=NaN"}},
		"totals": {Report, SniffReport, reported[strings.Index(reported, "transaction type"):],
			[]string{"3 3 n=1990 waited=23.88 max=0 busy=NaN"}},
		"transactions": {Log, SniffLog, logged, []string{
			"1795226400000 1 n=0 waited=0 max=0 busy=0",
			"1795226401000 1 n=1 waited=0.005 max=0.005 busy=1.005", "1795226402000 1 n=0 waited=0 max=0 busy=1",
			"1795226403000 1 n=1 waited=2.5 max=2.5 busy=0.5"}},
		"aggregated": {Aggregated, SniffAggregated, summed, []string{
			"1795226410000 10 n=100 waited=0.5 max=0.009 busy=NaN", "1795226420000 10 n=0 waited=0 max=0 busy=NaN"}},
	} {
		if !c.sniff([]byte(c.text)) {
			t.Errorf("%s: not recognised", name)
		}
		got, bad := parsed(c.format, c.text)
		if name == "transactions" && len(got) == 3 {
			got = append([]string{c.want[0]}, got...) // the first second may be missing
		}
		if !slices.Equal(got, c.want) || bad > 0 {
			t.Errorf("%s: %d bad lines and\n%s\nwant\n%s", name, bad, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}

// Numbers in columns are not recognised as pgbench's unless they are plausible.
func TestOtherNumbers(t *testing.T) {
	for _, text := range []string{
		"", "1 2 3 4 5 6\n1 2 3 4 5 6\n1 2 3 4 5 6\n", "a b c d e f\na b c d e f\na b c d e f\n",
		"1795226400 100 5 3 4000 9000\n1795226401 100 5 3 4000 9000\n1795226402 100 5 3 4000 9000\n",
	} {
		if SniffReport([]byte(text)) || SniffLog([]byte(text)) || SniffAggregated([]byte(text)) {
			t.Errorf("%q is recognised", text)
		}
	}
}

func FuzzForms(f *testing.F) {
	for _, s := range []string{reported, logged, summed, "progress: 1e9 s, NaN tps, lat x ms", "0 0 9223372036854775807 0 1795226400 1\n"} {
		f.Add(s)
	}
	f.Fuzz(func(_ *testing.T, text string) {
		SniffReport([]byte(text))
		SniffLog([]byte(text))
		SniffAggregated([]byte(text))
		for _, format := range []benchmark.LogFormat{Report, Log, Aggregated} {
			parsed(format, text)
		}
	})
}
