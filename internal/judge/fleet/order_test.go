package fleet

import (
	"testing"

	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/judge/rules"
)

// A healthy member is never listed before one whose sync took four seconds, whatever their names.
func TestGraverFindingsFirst(t *testing.T) {
	slow := Database{Name: "etcd-c", Severity: rules.Critical, Findings: []Finding{{Rule: "etcd/wal-fsync-tail", Kind: diagnose.Cause, Severity: rules.Critical, Weight: 1}}}
	less := Database{Name: "etcd-a", Severity: rules.Critical, Findings: []Finding{{Rule: "etcd/wal-fsync-tail", Kind: diagnose.Cause, Severity: rules.Critical, Weight: 0.2}}}
	healthy := Database{Name: "etcd-b"}
	if slow.Severity.Rank() >= healthy.Severity.Rank() || heaviest(slow) <= heaviest(less) {
		t.Errorf("gravity %d, healthy %d; heaviest %g, less %g", slow.Severity.Rank(), healthy.Severity.Rank(), heaviest(slow), heaviest(less))
	}
}
