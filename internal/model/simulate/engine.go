package simulate

import (
	"plimsoll/internal/model/engine"
	"plimsoll/internal/model/scenario"
)

// An Engine is what the simulator must know of a storage engine.
type Engine interface {
	scenario.Engine
	// NewModel makes the engine with settings that NewConfig made and Check found right.
	NewModel(cfg scenario.Config, env *engine.Env) (engine.Model, error)
	// Evidence is what the model was held against.
	Evidence() Evidence
}

// Evidence is what an engine's model was held against.
type Evidence struct {
	// Measured says that the engine's runs are among those [AccuracyOf] is of.
	Measured bool
	// Text says in a clause how far off the model is, or why nobody knows.
	Text string
}

// A Describer is a [scenario.Config] that a recording says something of.
type Describer interface {
	scenario.Config
	// SourceFacts are facts of a [recording.Source].
	SourceFacts() map[string]string
}

// A Queryable is an engine of whose recordings PromQL can be asked what a run's result says.
type Queryable interface {
	Queries() Queries
}

// Queries are PromQL over a recording of a run; $span stands for the run's length. What cannot be
// asked is empty.
type Queries struct {
	CycleMedian string // median duration of a cycle in seconds, or what is nearest to it
	CycleNote   string // a sentence on how that differs from a median
	DirtyMax    string // most dirty bytes in the engine's own cache
}

// QueriesOf are those of a scenario's engine, none if it has none.
func QueriesOf(sc *scenario.Scenario) Queries {
	if q, ok := sc.Engine.Engine.(Queryable); ok {
		return q.Queries()
	}
	return Queries{}
}
