package judge

import (
	"time"

	"plimsoll/internal/judge/rules"
)

// compared lists the signals for comparing two recordings.
var compared = rules.Compared{
	Operations: []rules.Operations{{Signals: []*rules.Signal{Writes, Reads}},
		{Signals: []*rules.Signal{WriteCounters}}},
	Writes:  rules.Felt{Latency: WriteLatency, Rate: Writes},
	Reads:   rules.Felt{Latency: ReadLatency, Rate: Reads},
	Inserts: Inserts, Updates: Updates,
	Logged:     LogPayload,
	CycleEvery: time.Minute,
	Source:     "mongodb_exporter or diagnostic.data",
	Figures: []rules.Figure{
		{Name: "journal_sync", Title: "journal sync", Unit: "seconds", Wanted: rules.Less, Time: LogSyncTime,
			Events: LogSyncs},
		{Name: "app_evictions", Title: "app evictions", Unit: "1/s", Wanted: rules.Less, Mean: AppEvictions},
		{Name: "dirty_bytes", Title: "dirty in cache", Unit: "bytes", Wanted: rules.Neither, Mean: Dirty},
	},
}
