package live

import (
	"slices"

	"plimsoll/internal/record/recording"
)

const (
	checkpointerCount = "plimsoll_postgres_checkpointer_count"
	// checkpointerQuery returns the checkpointer's wait event. An empty one means that it uses a
	// CPU or that the version does not report the wait (before 15: the sleeps of a paced
	// checkpoint). Without pg_monitor its row cannot be identified. With track_activities off,
	// older versions report no waits of any process, which would look like work.
	checkpointerQuery = `SELECT coalesce(wait_event_type, ''), coalesce(wait_event, '')
 FROM pg_stat_activity WHERE backend_type = 'checkpointer' AND current_setting('track_activities') = 'on'`
	// checkpointerWaitsMax bounds the different wait events: PostgreSQL 18 has about 270 in total,
	// of which a checkpoint uses about a dozen.
	checkpointerWaitsMax = 300
)

var checkpointerLabels = []string{"wait_event_type", "wait_event"}

// A checkpointer remembers all wait events seen so far: those other than the current one become 0.
type checkpointer struct {
	s     *sampler
	waits [][][]byte // type and event, in order of appearance
}

// take converts the rows of [checkpointerQuery].
func (c *checkpointer) take(rows [][][]byte) ([]recording.Column, error) {
	now := -1
	for _, r := range rows {
		now = slices.IndexFunc(c.waits, func(w [][]byte) bool { return slices.EqualFunc(w, r, slices.Equal) })
		if now < 0 && len(c.waits) < checkpointerWaitsMax {
			now = len(c.waits)
			c.waits = append(c.waits, [][]byte{slices.Clone(r[0]), slices.Clone(r[1])})
		}
	}

	out := make([]recording.Column, len(c.waits))
	for i, w := range c.waits {
		out[i] = recording.Column{Labels: c.s.labelled(checkpointerCount, checkpointerLabels, w),
			Values: []float64{0}}
		if i == now {
			out[i].Values[0] = 1
		}
	}

	return out, nil
}
