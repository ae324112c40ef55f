package live

import (
	"bytes"
	"fmt"
	"slices"

	"plimsoll/internal/record/recording"
)

const (
	activityCount = "pg_stat_activity_count"
	activityAge   = "pg_stat_activity_max_tx_duration"
	// groupsMax bounds the number of session groups: 300 wait events, some of them in each of many
	// databases.
	groupsMax = 2000

	checkpointerCount = "plimsoll_postgres_checkpointer_count"
	// checkpointerQuery returns the checkpointer's wait event. An empty one means that it uses a
	// CPU or that the version does not report the wait (before 15: the sleeps of a paced
	// checkpoint). Without pg_monitor its row cannot be identified. With track_activities off,
	// older versions report no waits of any process, which would look like work.
	checkpointerQuery = `SELECT coalesce(wait_event_type, ''), coalesce(wait_event, ''), 1
 FROM pg_stat_activity WHERE backend_type = 'checkpointer' AND current_setting('track_activities') = 'on'`
)

// groups remembers all groups of processes seen so far: one that is now empty has a count of 0.
type groups struct {
	s *sampler
	// labels are the first columns of a query, of which the last two are the wait event, and metrics
	// the others: a count, and a maximum.
	labels, metrics []string
	of              map[string]*group
	order           []*group
}

type group struct {
	labels [][]byte
	values []float64
}

// sessionGroups have the labels of postgres_exporter 0.17.0 and later, without usename and
// application_name.
func sessionGroups(s *sampler) *groups {
	return &groups{s: s, labels: []string{"datname", "state", "backend_type", "wait_event_type", "wait_event"},
		metrics: []string{activityCount, activityAge}, of: map[string]*group{}}
}

func checkpointerGroups(s *sampler) *groups {
	return &groups{s: s, labels: []string{"wait_event_type", "wait_event"}, metrics: []string{checkpointerCount},
		of: map[string]*group{}}
}

// question returns the query of the groups; nil if none of their metrics is wanted.
func (a *groups) question(name, query string) *question {
	if !slices.ContainsFunc(a.metrics, a.s.wants) {
		return nil
	}
	return &question{name: name, query: query, columns: len(a.labels) + len(a.metrics), take: a.take}
}

// take converts the rows of the query.
func (a *groups) take(rows [][][]byte) ([]recording.Column, error) {
	// A group stays once seen, with a count of zero: a series that ended would look like a gap.
	for _, g := range a.order {
		clear(g.values)
	}

	for _, r := range rows {
		g := a.group(r[:len(a.labels)])
		for i, text := range r[len(a.labels):] {
			x, err := number(text)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", a.metrics[i], err)
			}
			// Beyond the bound on groups, several rows share one.
			if i == 0 {
				g.values[i] += x
			} else {
				g.values[i] = max(g.values[i], x)
			}
		}
	}

	var out []recording.Column
	for _, g := range a.order {
		for i, metric := range a.metrics {
			if a.s.wants(metric) {
				out = append(out, recording.Column{Labels: a.s.labelled(metric, a.labels, g.labels),
					Values: []float64{g.values[i]}})
			}
		}
	}

	return out, nil
}

// group finds the group with these labels. If there are too many groups, processes in new ones are
// counted without their wait event.
func (a *groups) group(values [][]byte) *group {
	key := string(bytes.Join(values, []byte{0}))
	if g, ok := a.of[key]; ok {
		return g
	}

	// Databases and states are few on a real server; whatever one claims, the memory stays bounded.
	if len(a.of) >= 2*groupsMax {
		a.s.limit(fmt.Sprintf("there are more than %d combinations of database, state and type: further sessions are counted without them",
			2*groupsMax))
		values = make([][]byte, len(values))
		key = string(bytes.Join(values, []byte{0}))
		if g, ok := a.of[key]; ok {
			return g
		}
	}

	wait := len(values) - 2
	if len(a.of) >= groupsMax && len(values[wait]) > 0 {
		a.s.limit(
			fmt.Sprintf("there are more than %d combinations of database, state, type and wait event: the wait events of further sessions are not recorded",
				groupsMax))
		return a.group(append(slices.Clone(values[:wait]), nil, nil))
	}

	g := &group{values: make([]float64, len(a.metrics))}
	for _, v := range values {
		g.labels = append(g.labels, slices.Clone(v))
	}

	a.of[key] = g
	a.order = append(a.order, g)
	return g
}
