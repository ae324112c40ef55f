package existing

import (
	"context"
	"errors"

	"plimsoll/internal/lab"
	"plimsoll/internal/model/scenario"
)

// A Guest is a lab.Server that runs already: Start makes what the run needs there and nothing else, and Stop removes it, unless it
// is to be kept.
type Guest interface {
	lab.Server
	// Look connects and says what is there; it writes nothing. The error says what is in the way of a run.
	Look(ctx context.Context, sc *scenario.Scenario) (*Sight, error)
}

// ErrNotOurs is the error of killing or starting what somebody else runs.
var ErrNotOurs = errors.New("a server that runs already is neither killed nor started")

// A Sight is what was seen of a server before anything is written.
type Sight struct {
	// Server is the product with its version: "PostgreSQL 15.18".
	Server string
	// Notes are what a person should know before saying yes, a sentence each.
	Notes []string
	// Least is the least that the user has to be allowed there.
	Least string
	// Remove is what removes by hand what a killed run leaves, as one types it.
	Remove string
}
