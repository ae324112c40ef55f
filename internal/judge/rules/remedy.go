package rules

import (
	"strings"
	"time"
)

// A Remedy carries out advice: the commands that change something, with commands to look first, to
// check the result, to make it permanent and to undo it. It is written once and printed by
// verdicts, by `plimsoll rules show` and in the rules' pages.
//
// Every text is a template over [Values]: those of the advice, those that Size computes, and the
// place where the database runs (package act lists them). An unknown value is empty. Values that
// only the reader knows are prompted for with {{ask .volume "VOLUME" "the volume's id"}}: the
// value, quoted for a shell, or a variable that stops the command with these words until it is set.
type Remedy struct {
	Name  string // as `prove --fix` accepts it: "dirty-bytes"
	Title string // what to do, in the imperative, a few words
	// Relieves are the resources that it adds to. A verdict that refutes one of them does not
	// propose it.
	Relieves []Resource
	// Recipes are tried in order: the first that fits the place and the version is printed.
	Recipes []Recipe
	Cost    string        // what it costs apart from money; "" for nothing
	Money   string        // what it costs in money; "" for nothing
	Saves   bool          // it saves money
	Wait    time.Duration // until it can be judged
	Until   string        // what must have happened by then
	// Raises are figures of `prove` that it increases on purpose: they count as intended, not as
	// worse.
	Raises []string
	// Settings are what it changes: names of facts that sources report, or of signals. From these,
	// `prove` recognizes that it was done, and of two remedies that change the same setting only
	// the first is proposed.
	Settings []string
	// Size computes values from the case and the finding; nil for none. An empty result that a
	// recipe asks for becomes a variable.
	Size func(c *Case, f *Finding) Values
	// Needed reports whether the remedy would still make a difference: false if the recording
	// already has the setting. It is nil if that is never known.
	Needed func(c *Case, v Values) bool
	// Example holds values for pages, which have no recording.
	Example Values
}

// A Recipe carries out a remedy in one kind of place, or with some versions.
type Recipe struct {
	Places []Place // none: everywhere
	// Clouds are the clouds whose hosts it applies to; none means every host. If the cloud is
	// unknown, a recipe for every host takes precedence over those for some.
	Clouds []Cloud
	// From is the first version that it applies to and Before the first that it no longer applies
	// to; "" means no bound. An unknown version fits only recipes without bounds.
	From, Before string
	// None says why it cannot be done there; such a recipe has no commands.
	None string
	// Look changes nothing: it shows the present values, and saves them if Undo needs them. Do
	// takes effect immediately, or after Restart. Keep makes it survive a restart; Check shows that
	// it took effect; Undo restores the previous state. All can be run in the order listed.
	Look, Do, Keep, Check, Undo []Command
	// Kept says why there is nothing to make permanent, and NoUndo why there is nothing to undo.
	Kept, NoUndo string
	Restart      string // what is restarted; "" for nothing
	// Cost is the cost in this place, in addition to the remedy's own cost: a failover, less durability,
	// a limit such as "one change in six hours"; "" if there is none.
	Cost  string
	Notes []string
	// Trial names the test that runs these steps on the real thing, if it is not one of package act; "" if
	// there is none.
	Trial string
}

// A Command is a line for a shell, or statements for a database's own shell.
type Command struct {
	By   By
	Text string
	// State names the file that saves the client's output, once, and Lines is the prefix of the
	// lines saved. With Restores the file is read: its content replaces [Saved] in Text.
	State, Lines string
	Restores     bool
	// With Needs, State names the file without which the statement must not run: what it changes could
	// not be undone.
	Needs bool
}

// Saved is the placeholder for the saved state in a statement that restores it.
const Saved = "$SAVED"

// By is who runs a command.
type By int

// The ways to run a command: on any machine with the provider's tools; on the database's host; by the
// engine's client; where the server runs, which is its container if it has one and otherwise its host, as
// root.
const (
	Anywhere By = iota
	OnHost
	ByClient
	AtServer
)

// Tool, OnShell, There and Ask make the commands of a recipe.
func Tool(lines ...string) []Command { return commands(Anywhere, lines) }

// OnShell is described at Tool.
func OnShell(lines ...string) []Command { return commands(OnHost, lines) }

// There is described at Tool.
func There(lines ...string) []Command { return commands(AtServer, lines) }

// Ask is described at Tool: all lines are statements for one call of the engine's client.
func Ask(lines ...string) []Command { return commands(ByClient, lines) }

// Save makes statements of the engine's client that print the present state, as lines with the
// given prefix. They are saved in the named file, which a second look does not overwrite.
func Save(file, lines string, statements ...string) []Command {
	return []Command{{By: ByClient, Text: strings.Join(statements, "; "), State: file, Lines: lines}}
}

// AskSaved is like [Ask], but the statements run only if the named file has saved the present state.
func AskSaved(file string, lines ...string) []Command {
	out := commands(ByClient, lines)
	for i := range out {
		out[i].State, out[i].Needs = file, true
	}
	return out
}

// Restore makes a statement of the engine's client that sets what the file contains.
func Restore(file, statement string) []Command {
	return []Command{{By: ByClient, Text: statement, State: file, Restores: true}}
}

func commands(by By, lines []string) []Command {
	out := make([]Command, len(lines))
	for i, l := range lines {
		out[i] = Command{By: by, Text: l}
	}
	return out
}

// Place is the kind of place a database runs in.
type Place string

// The places.
const (
	Host       Place = "host" // a Linux host
	Docker     Place = "docker"
	Kubernetes Place = "kubernetes"
	RDS        Place = "rds"    // an instance with its own volume
	Aurora     Place = "aurora" // a cluster of RDS: Aurora, or one in several zones
	AzureDB    Place = "azure"  // Azure Database, flexible server
	CloudSQL   Place = "cloudsql"
	Managed    Place = "managed" // another provider's service
)

// Places are all places, in the order used on pages.
var Places = []Place{Host, Docker, Kubernetes, RDS, Aurora, AzureDB, CloudSQL, Managed}

// Services are the places whose host belongs to a provider.
var Services = []Place{RDS, Aurora, AzureDB, CloudSQL, Managed}

// Resource is something that a remedy adds to.
type Resource string

// The resources.
const (
	VolumeIOPS       Resource = "volume's IOPS"
	VolumeThroughput Resource = "volume's throughput"
	VolumeLatency    Resource = "volume's latency"
	OwnVolume        Resource = "separate volume"
	Writeback        Resource = "writeback"
)

// DiskResources are all resources of a device: a disk that is not the cause refutes all of them.
var DiskResources = []Resource{VolumeIOPS, VolumeThroughput, VolumeLatency, OwnVolume, Writeback}

// Remedies that every engine implements itself, in [Knowledge.Remedies].
var (
	LogApart    = &Remedy{Name: "log-apart", Title: "Move the log to a separate volume"}
	PaceWrites  = &Remedy{Name: "pace", Title: "Spread the checkpoint's writes"}
	CacheWithin = &Remedy{Name: "cache-within", Title: "Size the cache below the limit"}
)

// Remedies are all remedies, the core's and the engines', each once.
func (p *Pack) Remedies() []*Remedy {
	var out []*Remedy
	seen := map[*Remedy]bool{}
	add := func(m *Remedy) {
		if m != nil && !seen[m] && len(m.Recipes) > 0 {
			seen[m] = true
			out = append(out, m)
		}
	}

	for _, r := range p.Rules() {
		for _, name := range r.AdviceNames() {
			for _, m := range r.Advice[name].Do {
				add(m)
				for _, e := range p.Engines() {
					add(e.Remedies[m])
				}
			}
		}
	}

	return out
}

// RemedyFor is an engine's implementation of a remedy, or the remedy itself; nil if neither has
// recipes.
func (p *Pack) RemedyFor(database string, m *Remedy) *Remedy {
	for _, e := range p.Engines() {
		if own := e.Remedies[m]; own != nil && e.Database == database {
			return own
		}
	}
	if len(m.Recipes) == 0 {
		return nil
	}
	return m
}
