package judge

import "plimsoll/internal/judge/rules"

// compared is by what two recordings are compared.
var compared = rules.Compared{
	Operations: []rules.Operations{{Signals: []*rules.Signal{GlobalUpdates}}},
	LastCycle:  WriteDaemonCycle,
}
