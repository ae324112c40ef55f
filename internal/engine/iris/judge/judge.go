// Package judge is what Plimsoll knows of how InterSystems IRIS stalls: the signals by which
// recordings of it are read, and the rules with their test scripts.
package judge

import (
	"embed"

	"plimsoll/internal/judge/rules"
)

//go:embed testdata/*.test
var scripts embed.FS

// Knowledge is what the pack takes from here.
func Knowledge() rules.Knowledge {
	return rules.Knowledge{
		Database: "iris", Product: "InterSystems IRIS", Programs: []string{"irisdb"},
		Anchor:    WriteDaemonCycle,
		Signals:   signals,
		Rules:     []rules.Rule{writeDaemonStall()},
		Scripts:   scripts,
		Compared:  compared,
		Providers: []rules.Provider{{Prefix: "iris_", Ways: []rules.Way{{Text: "InterSystems IRIS' /api/monitor/metrics"}}}},
		Exporter:  "its own /api/monitor/metrics",

		Remedies: remedies,
	}
}
