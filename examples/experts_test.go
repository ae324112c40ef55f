package examples

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/judge/diagnose"
)

// expertInputs are recordings whose cause is known to experts of each engine.
const expertInputs = "../../shared/data/engines"

// The first cause is the one that an expert would name first, and "no volume fixes this" comes first if it is true.
func TestExpertsAgree(t *testing.T) {
	for name, want := range map[string]struct {
		cause   string // the first cause; "" if none is above info
		stalls  bool
		opening string // part of the verdict
		remedy  string // the first of DO NOW; "" if there is none
	}{
		"ebs-volume-stalled":           {cause: "disk/volume-stalled", stalls: true},
		"etcd-elections-by-network":    {cause: "etcd/elections-without-disk", opening: "The leader changes, and the disk is not the cause"},
		"etcd-nospace":                 {cause: "etcd/no-space", opening: "Writes are refused: the database is at its quota"},
		"mongodb-aggregation-by-index": {opening: "No stall"},
		"mongodb-awaitable-hello":      {opening: "No stall"},
		"mongodb-lagging-secondary": {cause: "disk/throughput-capped", stalls: true,
			opening: "The secondary falls behind", remedy: "checkpoint-smaller"},
		"mongodb-pinned-snapshot":  {cause: "wiredtiger/pinned-snapshot", stalls: true, opening: "No volume fixes this: an open snapshot"},
		"mongodb-stepdown-lock":    {cause: "mongodb/held-lock", stalls: true, opening: "No volume fixes this: a lock was held"},
		"postgres-alter-table":     {cause: "postgres/lock-wait", stalls: true, opening: "No volume fixes this: clients waited for locks", remedy: "end-blocker"},
		"postgres-autovacuum-only": {opening: "No stall"},
		"postgres-copy-ring":       {opening: "No stall"},
		"postgres-lock":            {cause: "postgres/lock-wait", stalls: true, opening: "No volume fixes this: clients waited for locks", remedy: "end-blocker"},
		"postgres-pg-dump":         {opening: "No stall"},
		"postgres-syncrep":         {cause: "postgres/standby-wait", stalls: true, opening: "No volume of this host fixes this"},
		"postgres-wal-sync":        {cause: "postgres/wal-flush", stalls: true, remedy: "wal-apart"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(expertInputs, name+".om.gz")
			if _, err := os.Stat(file); err != nil {
				t.Skip("the experts' inputs are not next to the checkout (../shared/data from its root)")
			}

			r := diagnoseFiles(t, file)
			cause := ""
			for _, f := range r.Findings {
				if f.Kind == diagnose.Cause && f.Severity != diagnose.Info {
					cause = f.Rule
					break
				}
			}

			if cause != want.cause || want.stalls != (r.Stalls.Seconds > 0) || !strings.HasPrefix(r.Verdict, want.opening) {
				t.Errorf("first cause %q, %g s stalled, want %q: %s", cause, r.Stalls.Seconds, want.cause, r.Verdict)
			}

			remedy := ""
			if len(r.Actions) > 0 {
				remedy = r.Actions[0].Remedy
			}
			if remedy != want.remedy {
				t.Errorf("first remedy %q, want %q", remedy, want.remedy)
			}
		})
	}
}
