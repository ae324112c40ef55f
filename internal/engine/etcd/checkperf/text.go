//go:build linux

package checkperf

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"plimsoll/internal/base/units"
)

// Met implements existing.PerfResult.
func (r *Result) Met() bool { return r.Passed }

// Text implements existing.PerfResult: etcdctl's verdict first, as it says it.
func (r *Result) Text(printable func(string) string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: load %s, %s puts a second from %d clients for %s, an open loop\n\n", r.Server, r.Load, units.Number(r.Rate), r.Clients, units.Seconds(r.Seconds))
	fmt.Fprintf(&b, "puts %s   p50 %s   p99 %s   slowest %s\n", units.Count(r.Puts), units.Seconds(r.P50), units.Seconds(r.P99), units.Seconds(r.Max))
	part := func(title string, all []Criterion, passed bool) {
		fmt.Fprintf(&b, "\n%s\n", title)
		for i := range all {
			fmt.Fprintln(&b, criterionText(&all[i]))
		}
		fmt.Fprintln(&b, verdictWord(passed))
	}
	part("BY ETCDCTL'S CRITERIA", r.Etcdctl, r.PassedEtcdctl())
	part("BY P99", r.P99s, r.PassedP99())
	for _, text := range slices.Sorted(maps.Keys(r.Errors)) {
		fmt.Fprintf(&b, "\nfailed: %s (%s)\n", printable(text), units.Count(r.Errors[text]))
	}
	for _, remark := range r.Remarks {
		fmt.Fprintf(&b, "\n- %s.\n", printable(remark))
	}
	return b.String()
}

func verdictWord(passed bool) string {
	if passed {
		return "PASS"
	}
	return "FAIL"
}

// criterionText is a line: the verdict, what was seen, and the bound.
func criterionText(c *Criterion) string {
	word, value := "?   ", "not known"
	if c.Value != nil {
		word, value = verdictWord(*c.Passed), units.Value(*c.Value, c.Unit)
	}
	bound := "at most "
	if c.AtLeast {
		bound = "more than "
	}
	return fmt.Sprintf("%s  %-20s%14s   %s%s", word, strings.ReplaceAll(c.Name, "_", " "), value, bound, units.Value(c.Bound, c.Unit))
}
