package rules

import (
	"strings"
	"time"
)

// A Remedy carries out advice: the commands that change something, with how to look before, how to
// check it, how to make it last and how to undo it. It is written once and printed by verdicts, by
// `plimsoll rules show` and in the rules' pages.
//
// Every text is a template over [Values]: those of the advice, those that Size computes, and where
// the database runs (package act lists them). A value that is not known is empty. What only the
// reader knows is asked for with {{ask .volume "VOLUME" "the volume's id"}}: the value, quoted for a
// shell, or a variable that stops the command with these words until it is set.
type Remedy struct {
	Name  string // as `prove --fix` takes it: "dirty-bytes"
	Title string // what to do, in the imperative, a few words
	// Relieves are the resources that it gives more of. A verdict that refutes one of them does not
	// propose it.
	Relieves []Resource
	// Recipes are tried in order: the first for the place and the version is the one to print.
	Recipes []Recipe
	Cost    string        // what it costs besides money; "" for nothing
	Money   string        // what is paid for; "" for nothing
	Saves   bool          // with it less is paid than before
	Wait    time.Duration // until it can be judged
	Until   string        // what has happened by then
	// Raises are figures of `prove` that it makes larger on purpose: there they are as meant, not
	// worse.
	Raises []string
	// Settings are what it changes: names of facts that sources report, or of signals. By them
	// `prove` sees that it was done, and of two remedies that change the same only the first is
	// proposed.
	Settings []string
	// Size computes values from the case and the finding; nil for none. An empty result that a
	// recipe asks for becomes a variable.
	Size func(c *Case, f *Finding) Values
	// Needed reports whether it still makes a difference: false if the recording has the setting
	// already; nil if that is never known.
	Needed func(c *Case, v Values) bool
	// Example are values for pages, where no recording is at hand.
	Example Values
}

// A Recipe is how to do it in one kind of place, or with some versions.
type Recipe struct {
	Places []Place // none: everywhere
	// Clouds are whose hosts it is for; none is every host. Where the cloud is not known, a recipe for
	// every host goes before those for some.
	Clouds []Cloud
	// From is the first version that it is for and Before the first that it is no longer for; "" is
	// no bound. A version that is not known is within any bounds.
	From, Before string
	// None says why it cannot be done there; then there are no commands.
	None string
	// Look changes nothing: it shows the present values, and keeps them where Undo needs them. Do is
	// in force at once, or after Restart. Keep makes it last beyond a restart; Check shows that it
	// took effect; Undo brings back what was there. All can be run in the order in which they stand.
	Look, Do, Keep, Check, Undo []Command
	// Kept says why there is nothing to make it last, and NoUndo why there is nothing to undo.
	Kept, NoUndo string
	Restart      string // what is restarted; "" for nothing
	Notes        []string
}

// A Command is a line for a shell, or what a database's own shell is given.
type Command struct {
	By   By
	Text string
	// State names the file that keeps what the client prints, once, and Lines is what its lines begin
	// with. With Restores the file is read: what it has takes the place of [Saved] in Text.
	State, Lines string
	Restores     bool
}

// Saved is the place of the saved state in a statement that restores it.
const Saved = "$SAVED"

// By is who runs a command.
type By int

// The ways to run a command: on any machine with the provider's tools; on the database's host; by
// the host's kernel, whatever the host is; by the engine's client.
const (
	Anywhere By = iota
	OnHost
	OnKernel
	ByClient
)

// Tool, OnShell, Kernel and Ask make the commands of a recipe.
func Tool(lines ...string) []Command { return commands(Anywhere, lines) }

// OnShell is described at Tool.
func OnShell(lines ...string) []Command { return commands(OnHost, lines) }

// Kernel is described at Tool: each line is one program with its arguments, run as root.
func Kernel(lines ...string) []Command { return commands(OnKernel, lines) }

// Ask is described at Tool: all lines are statements for one call of the engine's client.
func Ask(lines ...string) []Command { return commands(ByClient, lines) }

// Save is statements of the engine's client that print the present state: lines with the given
// beginning. They are kept in a file of that name, and a second look does not overwrite them.
func Save(file, lines string, statements ...string) []Command {
	return []Command{{By: ByClient, Text: strings.Join(statements, "; "), State: file, Lines: lines}}
}

// Restore is a statement of the engine's client that sets what the file has.
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
	RDS        Place = "rds"
	Managed    Place = "managed" // another provider's service
)

// Places are all of them, in the order of pages.
var Places = []Place{Host, Docker, Kubernetes, RDS, Managed}

// Resource is what a remedy gives more of.
type Resource string

// The resources.
const (
	VolumeIOPS       Resource = "volume's IOPS"
	VolumeThroughput Resource = "volume's throughput"
	VolumeLatency    Resource = "volume's latency"
	OwnVolume        Resource = "volume of its own"
	Writeback        Resource = "writeback"
)

// DiskResources are all that a device gives: what a disk that is not the cause refutes.
var DiskResources = []Resource{VolumeIOPS, VolumeThroughput, VolumeLatency, OwnVolume, Writeback}

// Remedies that every engine carries out in its own way: [Knowledge.Remedies] has the engine's.
var (
	LogApart    = &Remedy{Name: "log-apart", Title: "Give the log a volume of its own"}
	PaceWrites  = &Remedy{Name: "pace", Title: "Spread the checkpoint's writes"}
	CacheWithin = &Remedy{Name: "cache-within", Title: "Size the cache below the limit"}
)

// Remedies are all of them, the core's and the engines', each once.
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

// RemedyFor is an engine's way of a remedy, or the remedy itself; nil if it is nobody's.
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

// Why some advice has no command.
const (
	nothingToDo     = "there is nothing to change"
	changesInstance = "another instance type means to stop the instance, and what is on its instance store is lost: follow your own procedure, one member at a time"
	lookUpVolume    = "what the volume is provisioned with decides: aws ec2 describe-volumes shows it"
)
