package results

import (
	"strings"
	"testing"
	"time"

	"plimsoll/internal/advise/fit"
	"plimsoll/internal/check/golden"
)

// A fitted scenario states the source of each value, and how to measure those that are assumed.
func TestFit(t *testing.T) {
	f := &fit.Fitted{
		Name:    "mongod",
		Engine:  "mongodb",
		From:    noon,
		To:      noon.Add(time.Hour),
		Remarks: []string{"the load was low"},
		Values: []fit.Value{
			{
				Key:      "volumes.data.iops",
				Text:     "2998",
				Known:    fit.Measured,
				Evidence: "the rate stayed flat",
				Low:      at(2900),
				High:     at(3100),
				Unit:     "1/s",
			},
			{
				Key:      "workload.arrivals.poisson",
				Text:     "612/s",
				Known:    fit.Inferred,
				Evidence: "operations a second",
				Low:      at(600),
				Unit:     "1/s",
			},
			{
				Key:      "host.cores",
				Text:     "4",
				Known:    fit.Assumed,
				Evidence: "not in the recording",
				Measure:  "nproc",
				Default:  true,
			}},
	}
	d := Fit(f)
	if d.Verdict != "mongod: 1 values are measured, 1 inferred, 1 assumed." ||
		strings.Join(d.Lead, "|") != "Fitted to a recording of 1h (2026-07-20T12:00:00Z).|The load was low." {
		t.Errorf("%s %q", d.Verdict, d.Lead)
	}
	var got []string
	for _, row := range tableOf(d, "values").Rows {
		got = append(
			got,
			row[0].Text+" | "+row[1].Text+" "+row[1].Note+" | "+row[2].Text+" | "+row[3].Text+" | "+row[4].Text+" "+row[4].Note,
		)
	}
	golden.Inline(t, strings.Join(got, "\n")+"\n", `
volumes.data.iops | 2998  | 2,900/s and 3,100/s | measured | The rate stayed flat. 
workload.arrivals.poisson | 612/s  | 600/s and more | inferred | Operations a second. 
host.cores | 4 default |  | assumed | Not in the recording. How to measure it: nproc
`)
	if lines := d.Sections[1].Parts[0].Files[0].Lines; len(lines) < 3 ||
		!strings.Contains(strings.Join(lines, "\n"), "2998") {
		t.Errorf("the scenario:\n%s", strings.Join(lines, "\n"))
	}
}
