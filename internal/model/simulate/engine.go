package simulate

import (
	"plimsoll/internal/model/engine"
	"plimsoll/internal/model/scenario"
)

// An Engine is what the simulator needs of a storage engine.
type Engine interface {
	scenario.Engine
	// NewModel makes the engine from settings that NewConfig made and Check accepted.
	NewModel(cfg scenario.Config, env *engine.Env) (engine.Model, error)
	// Evidence says what the model was compared with.
	Evidence() Evidence
}

// Evidence says what an engine's model was compared with.
type Evidence struct {
	// Measured reports whether the engine's runs are part of [AccuracyOf].
	Measured bool
	// Text says in a clause how accurate the model is, or why that is not known.
	Text string
}

// A Describer is a [scenario.Config] that adds facts to a recording.
type Describer interface {
	scenario.Config
	// SourceFacts are facts of a [recording.Source].
	SourceFacts() map[string]string
}

// A Queryable is an engine whose recordings can be queried for a result's figures.
type Queryable interface {
	Queries() Queries
}

// Queries are PromQL over a recording of a run; $span is replaced by the run's length. A figure
// that cannot be queried is empty.
type Queries struct {
	CycleMedian string // median duration of a cycle in seconds, or the nearest equivalent
	CycleNote   string // how that differs from a median, in a sentence
	DirtyMax    string // most dirty bytes in the engine's own cache
}

// QueriesOf returns the queries of a scenario's engine; empty if it has none.
func QueriesOf(sc *scenario.Scenario) Queries {
	if q, ok := sc.Engine.Engine.(Queryable); ok {
		return q.Queries()
	}
	return Queries{}
}
