package live

import (
	"fmt"
	"slices"

	"plimsoll/internal/record/recording"
)

const (
	activityCount = "pg_stat_activity_count"
	activityAge   = "pg_stat_activity_max_tx_duration"
	// groupsMax bounds the different groups of sessions: 300 wait events, and some in each of many
	// databases.
	groupsMax = 2000
)

// activityLabels are postgres_exporter's from 0.17.0 on, without usename and application_name.
var activityLabels = []string{"datname", "state", "backend_type", "wait_event_type", "wait_event"}

// activity remembers which groups of sessions there were: an empty one has a count of 0.
type activity struct {
	s      *sampler
	groups map[string]*group
	order  []string
}

type group struct {
	labels     [][]byte
	count, age float64
}

func newActivity(s *sampler) *activity { return &activity{s: s, groups: map[string]*group{}} }

// take reads the rows of [activityQuery].
func (a *activity) take(rows [][][]byte) ([]recording.Column, error) {
	for _, g := range a.groups {
		g.count, g.age = 0, 0
	}

	for _, r := range rows {
		count, err := number(r[len(activityLabels)])
		if err != nil {
			return nil, fmt.Errorf("the sessions' count: %w", err)
		}
		age, err := number(r[len(activityLabels)+1])
		if err != nil {
			return nil, fmt.Errorf("a transaction's age: %w", err)
		}
		g := a.group(r[:len(activityLabels)])
		g.count += count
		g.age = max(g.age, age)
	}

	var out []recording.Column
	for _, key := range a.order {
		g := a.groups[key]
		for _, x := range []struct {
			metric string
			value  float64
		}{{activityCount, g.count}, {activityAge, g.age}} {
			if a.s.wants(x.metric) {
				out = append(out, recording.Column{Labels: a.s.labelled(x.metric, activityLabels, g.labels),
					Values: []float64{x.value}})
			}
		}
	}

	return out, nil
}

// group finds the group with these labels. If there are too many, new ones count as sessions
// without a known wait.
func (a *activity) group(values [][]byte) *group {
	key := keyOf(values)
	if g, ok := a.groups[key]; ok {
		return g
	}

	if len(a.groups) >= groupsMax && len(values[3]) > 0 {
		a.s.limit(
			fmt.Sprintf("sessions are in more than %d groups of database, state, type and wait event: the waits of the others are not recorded",
				groupsMax))
		return a.group([][]byte{values[0], values[1], values[2], nil, nil})
	}

	g := &group{}
	for _, v := range values {
		g.labels = append(g.labels, slices.Clone(v))
	}

	a.groups[key] = g
	a.order = append(a.order, key)
	return g
}

func keyOf(values [][]byte) string {
	key := ""
	for _, v := range values {
		key += string(v) + "\x00"
	}
	return key
}
