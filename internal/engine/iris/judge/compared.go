package judge

import "plimsoll/internal/judge/rules"

// compared lists the signals for comparing two recordings.
var compared = rules.Compared{
	Operations: []rules.Operations{{Signals: []*rules.Signal{GlobalUpdates}}},
	LastCycle:  WriteDaemonCycle,
}
