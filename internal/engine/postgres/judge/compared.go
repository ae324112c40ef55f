package judge

import (
	"time"

	"plimsoll/internal/judge/rules"
)

// compared lists the figures by which two recordings are compared.
var compared = rules.Compared{
	Operations: []rules.Operations{{Signals: []*rules.Signal{Commits}}},
	Writes:     rules.Felt{Rule: "postgres/commit-stall"},
	CycleEvery: 5 * time.Minute,
	Source:     "postgres_exporter",
}
