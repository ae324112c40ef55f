package judge

import "plimsoll/internal/judge/rules"

// Signals that no rule uses. They describe the deployment and its workload, for building a scenario
// from a recording.
var (
	GlobalReferences = signal("iris_global_references:rate",
		"1/s", "global references per second, including updates",
		`max(iris_glo_ref_per_sec)`)
	DirectoryFull = signals.Add(rules.Signal{Name: rules.SignalPrefix + "iris_directory_full:ratio",
		Unit: "ratio", By: []string{"id"},
		Help:  "used part of the disk that holds a database's directory",
		Exprs: []string{`max by (id) (iris_disk_percent_full) / 100`}})
)
