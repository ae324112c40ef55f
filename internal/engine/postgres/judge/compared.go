package judge

import (
	"time"

	"plimsoll/internal/judge/rules"
)

// compared lists the signals for comparing two recordings.
var compared = rules.Compared{
	Operations: []rules.Operations{{Signals: []*rules.Signal{Commits}}},
	Writes:     rules.Felt{Rule: "postgres/commit-stall"},
	CycleEvery: 5 * time.Minute,
	Source:     "postgres_exporter",
}
