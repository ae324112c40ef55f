// Package advise is what Plimsoll advises of InterSystems IRIS: how a layout is applied to an
// instance.
package advise

import "plimsoll/internal/advise/emit"

// Where volumes are. The instance's configuration says where it looks for them.
const (
	dataMount    = "/srv/iris-data"
	wijMount     = "/srv/iris-wij"
	journalMount = "/srv/iris-journal"
)

// Deployment is how an instance is deployed.
func Deployment() emit.Deployment {
	const tell = "its configuration"
	return emit.Deployment{
		Targets: []emit.Target{{Name: "iris", About: "a configuration merge file (CPF)", Write: merge}},
		Places: map[string]emit.Place{
			"data": {Mount: dataMount, Configure: tell},
			"wij": {Mount: wijMount, Configure: tell,
				MoveData: "It needs no data: IRIS creates a new write image journal when it starts with `wijdir` (`--to iris`), after an orderly shutdown."},
			"journal": {Mount: journalMount, Configure: tell,
				MoveData: "It needs no data: IRIS creates new journal files there once `CurrentDirectory` is set (`--to iris`). Existing ones stay where they are, for backups."},
		},
		Elsewhere: []emit.Elsewhere{
			{Setting: "buffers", Text: "--to iris"},
			{Setting: "synchronous_commit", Text: "--to iris"},
			{Setting: "cycle",
				Text: "InterSystems documents no parameter for the write daemon's cycle: ask their support, or plan with --keep engine.iris.cycle"},
			{Setting: "", Text: "it only affects the model, or is a parameter that InterSystems does not document"},
		},
		Containers: []string{"iris"},
	}
}
