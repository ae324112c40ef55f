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
			"data": {Mount: dataMount, Tell: tell},
			"wij": {Mount: wijMount, Tell: tell,
				Bring: "Nothing is brought to it: the write image journal is made anew when IRIS starts with `wijdir` (`--to iris`), after it was stopped in order."},
			"journal": {Mount: journalMount, Tell: tell,
				Bring: "Nothing is brought to it: new journal files are made there once `CurrentDirectory` says so (`--to iris`); those there are stay where they are, for backups."},
		},
		Elsewhere: []emit.Elsewhere{
			{Setting: "buffers", Text: "--to iris"},
			{Setting: "synchronous_commit", Text: "--to iris"},
			{Setting: "cycle", Text: "InterSystems documents no parameter for the write daemon's cycle: ask their support, or plan with --keep engine.iris.cycle"},
			{Setting: "", Text: "it describes the model, or a parameter that InterSystems does not document"},
		},
		Containers: []string{"iris"},
	}
}
