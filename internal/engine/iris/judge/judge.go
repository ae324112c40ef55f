// Package judge holds what Plimsoll knows about stalls of InterSystems IRIS: the signals for reading its
// recordings, and the rules with their test scripts.
package judge

import (
	"embed"

	"plimsoll/internal/judge/rules"
)

//go:embed testdata/*.test
var scripts embed.FS

// Knowledge returns what the rule pack needs from this package.
func Knowledge() rules.Knowledge {
	return rules.Knowledge{
		Database: "iris", Product: "InterSystems IRIS", Programs: []string{"irisdb"},
		Anchor:   WriteDaemonCycle,
		Signals:  signals,
		Rules:    []rules.Rule{writeDaemonStall()},
		Scripts:  scripts,
		Compared: compared,
		Bounds: []rules.Bound{
			{Resource: "write_daemon_cycle", Title: "write daemon's cycle", Used: WriteDaemonCycle, At: cycleEveryS,
				Text: "the write daemon begins a cycle every 80 s",
				Then: "changed blocks pile up, and reads queue behind the daemon"},
			{Resource: "database_space", Title: "space of its directory", Used: DirectoryFull, At: 1,
				Text: "what the instance reports of the directory's disk", Then: "writes fail", Fills: true},
		},
		Providers: []rules.Provider{{Prefix: "iris_",
			Ways: []rules.Way{{Text: "InterSystems IRIS' /api/monitor/metrics"}}}},
		Exporter: "its own /api/monitor/metrics",

		Remedies: remedies,
	}
}
