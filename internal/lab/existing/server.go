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

// An Engine is one whose existing servers a run can use.
type Engine struct {
	Addresses Addresses
	// New prepares a run's use of a server. It sends nothing yet.
	New func(sc *scenario.Scenario, opt Options) (Server, error)
	// NewPerfCheck prepares a check of a server by the criteria of the engine's own tools, and sends
	// nothing yet; nil: there are none.
	NewPerfCheck func(opt Options, load PerfLoad) (*PerfCheck, error)
}

// Addresses describes how the servers of an engine are addressed.
type Addresses struct {
	// Engine and Product are the engine's key in scenarios and its product name.
	Engine, Product string
	// Schemes come without "://"; Secure are those that ask for TLS.
	Schemes, Secure []string
	// Begin describes the schemes in errors. Example and Usage show an address, in errors and in a
	// flag's help.
	Begin, Example, Usage string
	// Socket says that an address without a host means a socket on this machine.
	Socket bool
	// HostParameter is a parameter that also names hosts, "" if there is none.
	HostParameter string
	// Files says that flags give the TLS files. Otherwise they are parameters of the address, and
	// Parameters names them.
	Files      bool
	Parameters string
	// Makes is what a run creates there, with %s for its name; "": a database.
	Makes string
}

// Options say how a run uses a server.
type Options struct {
	Address *Address
	// Name is the name of everything that the run creates there.
	Name string
	TLS  Files
	// Keep leaves what was created.
	Keep bool
}

// Files are for TLS: a client's certificate with its key, and the authority that signed the
// servers' certificates. "": no client certificate, and the system's authorities.
type Files struct{ Cert, Key, CACert string }

// A Server is a lab.Server that was already running: Start creates what the run needs there and
// nothing else, and Stop removes it, unless it is to be kept.
type Server interface {
	lab.Server
	// Inspect connects and reports what it finds; it writes nothing. The error says what prevents a
	// run.
	Inspect(ctx context.Context, sc *scenario.Scenario) (*Inspection, error)
}

// ErrNotOurs is the error of killing or starting a server that somebody else runs.
var ErrNotOurs = errors.New("an existing server is neither killed nor started")

// An Inspection is what was found on a server before anything is written.
type Inspection struct {
	// Server is the product with its version: "PostgreSQL 15.18".
	Server string
	// Notes are what the user should know before agreeing, a sentence each.
	Notes []string
	// Least is the least privilege that the user needs there.
	Least string
	// Remove is the command that removes what a killed run leaves.
	Remove string
}

// Kinds are the kinds of addresses of all engines, in the order of the engines' names.
type Kinds []Addresses

// KindsOf returns the kinds of some engines.
func KindsOf(able []engine.With[*Engine]) Kinds {
	var k Kinds
	for _, e := range able {
		k = append(k, e.Part.Addresses)
	}
	slices.SortFunc(k, func(a, b Addresses) int { return strings.Compare(a.Engine, b.Engine) })
	return k
}

// Wanted shows what an address looks like: "for example etcd://127.0.0.1:2379 or ...".
func (k Kinds) Wanted() string {
	return "for example " + k.list(func(a *Addresses) string { return a.Example }, " or ")
}

// Usage is the help of a flag that takes an address.
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

// of returns the kind of address with this scheme, nil if there is none.
func (k Kinds) of(scheme string) *Addresses {
	for i := range k {
		if slices.Contains(k[i].Schemes, scheme) {
			return &k[i]
		}
	}
	return nil
}

// made is what a run creates on a server.
func (a *Addresses) made(name string) string {
	if a.Makes == "" {
		return "database " + name
	}
	return fmt.Sprintf(a.Makes, name)
}
