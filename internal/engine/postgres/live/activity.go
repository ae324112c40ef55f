package live

import (
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
)

// activityLabels are the labels of postgres_exporter 0.17.0 and later, without usename and
// application_name.
var activityLabels = []string{"datname", "state", "backend_type", "wait_event_type", "wait_event"}

// activity remembers all session groups seen so far: one that is now empty has a count of 0.
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

// take converts the rows of [activityQuery].
func (a *activity) take(rows [][][]byte) ([]recording.Column, error) {
	// A group stays once seen, with a count of zero: a series that ended would look like a gap.
	for _, g := range a.groups {
		g.count, g.age = 0, 0
	}

	for _, r := range rows {
		count, err := number(r[len(activityLabels)])
		if err != nil {
			return nil, fmt.Errorf("session count: %w", err)
		}
		age, err := number(r[len(activityLabels)+1])
		if err != nil {
			return nil, fmt.Errorf("transaction age: %w", err)
		}
		g := a.group(r[:len(activityLabels)])
		g.count += count
		// Beyond the bound on groups, several rows share one.
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

// group finds the group with these labels. If there are too many groups, sessions in new ones are
// counted without their wait event.
func (a *activity) group(values [][]byte) *group {
	key := keyOf(values)
	if g, ok := a.groups[key]; ok {
		return g
	}

	if len(a.groups) >= groupsMax && len(values[3]) > 0 {
		a.s.limit(
			fmt.Sprintf("there are more than %d combinations of database, state, type and wait event: the wait events of further sessions are not recorded",
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
