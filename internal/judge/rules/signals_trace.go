package rules

// Signals of a trace of system calls, which runs for a while alongside the other sources.
var (
	TraceWait = core.Add(Signal{Name: SignalPrefix + "trace_wait:ratio", Unit: "s/s",
		By:    []string{"program", "device", "wait", "stage", "behind", "why"},
		Help:  "seconds per second that slow calls of a program waited, by what they waited for and what blocked them",
		Exprs: []string{`irate(plimsoll_trace_wait_seconds_total[$w])`}})
	TraceSlower = core.Add(Signal{Name: SignalPrefix + "trace_slower_than:seconds", Unit: "seconds",
		By:    []string{"target"},
		Help:  "the duration above which a trace explains a call; measured while it ran",
		Exprs: []string{`plimsoll_trace_slower_than_seconds`}})
)
