// Package advise contains Plimsoll's advice for InterSystems IRIS: how to apply a layout to an instance.
package advise

import "plimsoll/internal/advise/emit"

// Mount points of the volumes. The instance's configuration refers to them.
const (
	dataMount    = "/srv/iris-data"
	wijMount     = "/srv/iris-wij"
	journalMount = "/srv/iris-journal"
)

// Deployment describes how an instance is deployed.
func Deployment() emit.Deployment {
	const setIn = "its configuration"
	return emit.Deployment{
		Targets: []emit.Target{{Name: "iris", About: "a configuration merge file (CPF)", Write: merge}},
		Places: map[string]emit.Place{
			"data": {Mount: dataMount, Configure: setIn},
			"wij": {Mount: wijMount, Configure: setIn,
				MoveData: "It needs no data: IRIS creates a new write image journal when it starts with `wijdir` (`--target iris`), after a clean shutdown."},
			"journal": {Mount: journalMount, Configure: setIn,
				MoveData: "It needs no data: IRIS creates new journal files there once `CurrentDirectory` is set (`--target iris`). Existing ones stay where they are, for backups."},
		},
		Elsewhere: []emit.Elsewhere{
			{Setting: "buffers", Text: "--target iris"},
			{Setting: "synchronous_commit", Text: "--target iris"},
			{Setting: "cycle",
				Text: "InterSystems documents no parameter for the write daemon's cycle: ask their support, or plan with --keep engine.iris.cycle"},
			{Setting: "", Text: "it only affects the model, or is a parameter that InterSystems does not document"},
		},
		Containers: []string{"iris"},
	}
}
