package existing

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/lab"
	"plimsoll/internal/model/database"
	"plimsoll/internal/model/scenario"
)

// An Engine can be measured on an existing server.
type Engine struct {
	Addresses Addresses
	// New prepares the use of a server. It sends nothing yet.
	New func(sc *scenario.Scenario, opt Options) (Server, error)
	// NewPerfCheck prepares a check of a server by the criteria of the engine's own tools, without
	// sending anything yet; nil: the engine has none.
	NewPerfCheck func(opt Options, load PerfLoad) (*PerfCheck, error)
}

// Addresses describes how the servers of an engine are addressed.
type Addresses struct {
	// Engine and Product are the engine's key in scenarios and its product name.
	Engine, Product string
	// Schemes come without "://"; Secure are those that require TLS.
	Schemes, Secure []string
	// Begin describes the schemes in errors. Example and Usage show an address in errors and in a
	// flag's help.
	Begin, Example, Usage string
	// Socket means that an address without a host is a socket on this machine.
	Socket bool
	// HostParameter is a query parameter that also names hosts; "" if there is none.
	HostParameter string
	// Files means that flags specify the TLS files. Otherwise parameters of the address do, and
	// Parameters lists them.
	Files      bool
	Parameters string
	// Makes describes what a run creates there, with %s for its name; "": a database.
	Makes string
}

// Options configure how a run uses a server.
type Options struct {
	Address *Address
	// Name is the name of everything that the run creates there.
	Name string
	TLS  Files
	// Keep leaves what was created.
	Keep bool
}

// Files are used for TLS: a client certificate with its key, and the authority that signed the
// servers' certificates. "": no client certificate, and the system's authorities.
type Files struct{ Cert, Key, CACert string }

// A Server is a lab.Server that is already running: Start creates what the run needs there and
// nothing else, and Stop removes it unless it is to be kept.
type Server interface {
	lab.Server
	// Inspect connects and reports what it finds; it writes nothing. The error says what prevents a
	// run.
	Inspect(ctx context.Context, sc *scenario.Scenario) (*Inspection, error)
}

// ErrNotOurs is returned for attempts to kill or start a server that the lab did not start.
var ErrNotOurs = errors.New("cannot kill or start an existing server")

// An Inspection describes a server before anything is written to it.
type Inspection struct {
	// Server is the product with its version: "PostgreSQL 15.18".
	Server string
	// Notes are things the user should know before agreeing, one sentence each.
	Notes []string
	// Least is the minimum privilege that the user needs there.
	Least string
	// Remove is the command that removes what a killed run leaves behind.
	Remove string
}

// Kinds lists the kinds of addresses of all engines, sorted by engine.
type Kinds []Addresses

// KindsOf returns the kinds of some engines.
func KindsOf(able []database.With[*Engine]) Kinds {
	var k Kinds
	for _, e := range able {
		k = append(k, e.Part.Addresses)
	}
	slices.SortFunc(k, func(a, b Addresses) int { return strings.Compare(a.Engine, b.Engine) })
	return k
}

// Wanted shows examples of addresses: "for example etcd://127.0.0.1:2379 or ...".
func (k Kinds) Wanted() string {
	return "for example " + k.list(func(a *Addresses) string { return a.Example }, " or ")
}

// Usage is the help text of a flag that takes an address.
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

// of returns the kind of address with this scheme; nil if there is none.
func (k Kinds) of(scheme string) *Addresses {
	for i := range k {
		if slices.Contains(k[i].Schemes, scheme) {
			return &k[i]
		}
	}
	return nil
}

// made describes what a run creates on a server.
func (a *Addresses) made(name string) string {
	if a.Makes == "" {
		return "database " + name
	}
	return fmt.Sprintf(a.Makes, name)
}
