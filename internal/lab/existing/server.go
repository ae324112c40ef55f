package existing

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/lab"
	"plimsoll/internal/model/engine"
	"plimsoll/internal/model/scenario"
)

// An Engine is one whose existing servers a run may use.
type Engine interface {
	engine.Engine
	// Addresses are those of its servers.
	Addresses() Addresses
	// NewExisting prepares a run's use of a server. Nothing is asked yet.
	NewExisting(sc *scenario.Scenario, opt Options) (Server, error)
}

// Addresses are those of an engine's servers.
type Addresses struct {
	// Engine and Product are the engine's names in scenarios and for people.
	Engine, Product string
	// Schemes are theirs, without "://"; Secure are those of them that ask for TLS.
	Schemes, Secure []string
	// Begin is what people are told of the schemes, Example and Usage how addresses look: in
	// errors, and in a flag's help.
	Begin, Example, Usage string
	// Socket says that an address without a host means a socket of this machine.
	Socket bool
	// HostParameter is a parameter that names hosts as well, "" if there is none.
	HostParameter string
	// Files says that the files of TLS are given by flags. Otherwise they are parameters of the
	// address: Parameters names them.
	Files      bool
	Parameters string
	// Makes is what a run makes there, %s being its name; "": a database.
	Makes string
}

// Options say how a run uses a server.
type Options struct {
	Address *Address
	// Name is what everything that the run makes there is called by.
	Name string
	TLS  Files
	// Keep leaves there what was made.
	Keep bool
}

// Files are TLS: a client's certificate with its key, and who signs the servers'. "": none, and
// the system's.
type Files struct{ Cert, Key, CACert string }

// A Server is a lab.Server that runs already: Start makes what the run needs there and nothing
// else, and Stop removes it, unless it is to be kept.
type Server interface {
	lab.Server
	// Inspect connects and says what is there; it writes nothing. The error says what is in the
	// way of a run.
	Inspect(ctx context.Context, sc *scenario.Scenario) (*Inspection, error)
}

// ErrNotOurs is the error of killing or starting what somebody else runs.
var ErrNotOurs = errors.New("an existing server is neither killed nor started")

// An Inspection is what was seen of a server before anything is written.
type Inspection struct {
	// Server is the product with its version: "PostgreSQL 15.18".
	Server string
	// Notes are what a person should know before saying yes, a sentence each.
	Notes []string
	// Least is the least that the user has to be allowed there.
	Least string
	// Remove is what removes by hand what a killed run leaves, as one types it.
	Remove string
}

// Kinds are the addresses that engines know, in the order of their names.
type Kinds []Addresses

// KindsOf are those of the engines in a list that have existing servers.
func KindsOf(all []engine.Engine) Kinds {
	var k Kinds
	for _, e := range engine.Facets[Engine](all) {
		k = append(k, e.Addresses())
	}
	slices.SortFunc(k, func(a, b Addresses) int { return strings.Compare(a.Engine, b.Engine) })
	return k
}

// Wanted says what an address looks like: "for example etcd://127.0.0.1:2379 or ...".
func (k Kinds) Wanted() string {
	return "for example " + k.list(func(a *Addresses) string { return a.Example }, " or ")
}

// Usage is a flag's help about addresses.
func (k Kinds) Usage() string { return k.list(func(a *Addresses) string { return a.Usage }, ", ") }

func (k Kinds) list(of func(*Addresses) string, last string) string {
	var b strings.Builder
	for i := range k {
		switch {
		case i == len(k)-1 && i > 0:
			b.WriteString(last)
		case i > 0:
			b.WriteString(", ")
		}
		b.WriteString(of(&k[i]))
	}
	return b.String()
}

// of is the kind of address that has a scheme, nil if none has.
func (k Kinds) of(scheme string) *Addresses {
	for i := range k {
		if slices.Contains(k[i].Schemes, scheme) {
			return &k[i]
		}
	}
	return nil
}

// made is what a run makes on a server.
func (a *Addresses) made(name string) string {
	if a.Makes == "" {
		return "database " + name
	}
	return fmt.Sprintf(a.Makes, name)
}
