package ftdc

import (
	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/engine/mongodb/names"
)

// A plan defines what a reader does with each metric of a schema. It is made once per schema, so
// that chunks need no lookup of names.
type plan struct {
	steps []step
	// collisions are metrics that are skipped because another path has the same labels.
	collisions []int
}

// A step is one metric to decode, preceded by metrics to skip.
type step struct {
	skip   int // metrics to skip before it
	metric int
	labels labels.Labels
}

// makePlan lists the wanted metrics of a schema; a nil want means all.
func makePlan(s *Schema, want func(metric string) bool) *plan {
	p := &plan{}
	seen := make(map[labels.Labels]bool, len(s.paths))

	next := 0
	for i := range s.paths {
		if s.repeated[i] {
			continue
		}

		l, ok := names.Metric(s.paths[i])
		if !ok || want != nil && !want(l.Get(labels.MetricName)) {
			continue
		}

		if seen[l] {
			p.collisions = append(p.collisions, i)
			continue
		}

		seen[l] = true
		p.steps = append(p.steps, step{skip: i - next, metric: i, labels: l})
		next = i + 1
	}

	return p
}
