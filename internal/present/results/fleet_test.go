package results

import (
	"strings"
	"testing"
	"time"

	"plimsoll/internal/check/golden"
	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/judge/fleet"
	"plimsoll/internal/present/document"
	"plimsoll/internal/present/text"
)

// set is a document as a terminal shows it.
func set(t *testing.T, d *document.Document, opt text.Options) string {
	t.Helper()
	var b strings.Builder
	if err := text.Write(&b, d, opt); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func exampleFleet() *fleet.Report {
	from := time.Date(2026, 7, 20, 15, 0, 0, 0, time.UTC)
	r := &fleet.Report{
		Server: "http://thanos:9090", Selector: `{cluster=~"prod-.*"}`, By: []string{"cluster", "instance"}, Chosen: true, Span: diagnose.Span{From: from, To: from.Add(24 * time.Hour)},
		Verdict: "23 of 26 databases stalled. In 22 of them the volume's IOPS cap binds.", Found: 26, Read: 25, Stalled: 23, StalledS: 4600, WatchedS: 25 * 86400, Samples: 12_390_000,
		Groups: []fleet.Group{
			{Rule: "disk/iops-capped", Title: "The volume's IOPS cap binds", Kind: diagnose.Cause, Severity: diagnose.Critical, Critical: 3, ExplainedS: 4100,
				Fixes:   []fleet.FleetFix{{Fix: diagnose.Fix{Summary: "Raise the volume's IOPS", Expect: "the time at the cap shrinks", TradeOff: "USD 0.005 a month for each"}, Databases: 22}},
				Price:   &fleet.Price{MonthlyUSD: 330, Volumes: 22, Of: "3,000 IOPS more for each of 22 gp3 volumes in us-east-1"},
				Example: "nvme1n1 stands at 3,003 IOPS and goes no higher."},
			{Rule: "host/writeback-backlog", Title: "The kernel holds more dirty pages than the volume writes in time", Kind: diagnose.Cause, Severity: diagnose.Info, ExplainedS: 10, Names: []string{"prod-3/db-1"}, Example: "412 MB."},
			{Rule: "mongodb/slow-writes", Title: "Writes stall", Kind: diagnose.Symptom, Severity: diagnose.Warning, Names: []string{"prod-1/db-1"}, Example: "Often."},
			{Rule: "wiredtiger/cache-pressure", Title: "The cache is large enough", Kind: diagnose.Refutation, Severity: diagnose.Info, Names: []string{"prod-1/db-1"}, Example: "It was 71 % full."},
		},
		Missing: []fleet.Missing{{Rule: "disk/instance-capped", Databases: 25, Metrics: []string{"aws_ebs_csi_ec2_exceeded_iops_seconds_total"}}},
		Notes:   []string{"two series had gaps"},
	}

	for i := range 23 {
		name := "prod-" + string(rune('a'+i)) + "/db-1"
		if i < 22 {
			r.Groups[0].Names = append(r.Groups[0].Names, name)
		}
		d := fleet.Database{Name: name, StalledS: 200, WatchedS: 86400, LongestS: 14, PeriodS: 60}
		if i%2 == 0 {
			d.Findings = []fleet.Finding{{Rule: "disk/iops-capped", Kind: diagnose.Cause, Severity: diagnose.Critical}, {Rule: "wiredtiger/checkpoint-stall", Kind: diagnose.Cause, Severity: diagnose.Warning}}
		}
		r.Databases = append(r.Databases, d)
	}

	r.Databases = append(r.Databases, fleet.Database{Name: "prod-calm/db-1", WatchedS: 86400}, fleet.Database{Name: "prod-calm/db-2", WatchedS: 86400}, fleet.Database{Name: "prod-gone/db-1", Problem: "the server answered 422"})
	return r
}

func TestFleetText(t *testing.T) {
	golden.Compare(t, "fleet.golden", set(t, Fleet(exampleFleet(), time.UTC), text.Options{Width: 100}))
	golden.Compare(t, "fleet_verbose_ascii.golden", set(t, Fleet(exampleFleet(), time.UTC), text.Options{ASCII: true, Verbose: true}))
}
