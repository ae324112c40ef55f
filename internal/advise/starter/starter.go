// Package starter writes the first scenario of a deployment: commented, valid, and with what the user already
// knows about the load and the cloud.
package starter

import (
	"bytes"
	"cmp"
	"encoding"
	"fmt"
	"slices"
	"strings"
	"text/template"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/database"
)

// A Template is an engine's part of a first scenario.
type Template struct {
	// Settings is the engine's part, YAML below its key, and Workload the workload's. Both are templates over
	// a [Load] and are indented by two spaces.
	Settings, Workload string
	// Writes, Document and P99 are the assumed load unless the user specifies another.
	Writes   units.Frequency
	Document units.Size
	P99      units.Duration
	// Run is how long it runs: at least two checkpoints have to be measured. "": ten minutes.
	Run string
	// Data is the size of the data volume.
	Data units.Size
}

// A Load is the load for which a scenario is written.
type Load struct {
	Writes   units.Frequency
	Document units.Size
	P99      units.Duration
}

// Options are the user's choices. Zero values stand for the engine's defaults.
type Options struct {
	Load
	On string // the provider: see [Clouds]
}

// A Cloud is where a scenario is rented by default: the usual machine with 4 cores and 16 GiB, and the volume
// whose limits are chosen.
type Cloud struct {
	Name, Instance, Volume string
}

// Clouds are the providers. The machines are general-purpose ones whose limits for attached volumes are
// in the catalogue.
var Clouds = []Cloud{
	{"aws", "m6i.xlarge", "gp3"},
	{"azure", "standard_d4s_v5", "premium-v2"},
	{"gcp", "n2-standard-4", "hyperdisk-balanced"},
}

// CloudNames are the names for --on.
func CloudNames() []string {
	out := make([]string, len(Clouds))
	for i, c := range Clouds {
		out[i] = c.Name
	}
	return out
}

// SchemaFile is the file that a scenario's first line names for editors.
const SchemaFile = "scenario.schema.json"

// Make returns the scenario's YAML. file is its name, for the commands in its comments.
func Make(template database.With[*Template], file string, o Options) ([]byte, error) {
	i := slices.IndexFunc(Clouds, func(c Cloud) bool { return c.Name == o.On })
	if i < 0 {
		return nil, fmt.Errorf("unknown cloud %q: want one of %s", o.On, strings.Join(CloudNames(), ", "))
	}
	cloud := Clouds[i]

	load := o.Load
	if load.Writes == 0 {
		load.Writes = template.Part.Writes
	}
	if load.Document == 0 {
		load.Document = template.Part.Document
	}
	if load.P99 == 0 {
		load.P99 = template.Part.P99
	}

	settings, err := fill(template.Part.Settings, load)
	if err != nil {
		return nil, err
	}
	workload, err := fill(template.Part.Workload, load)
	if err != nil {
		return nil, err
	}

	var b strings.Builder
	fmt.Fprintf(&b, "# yaml-language-server: $schema=%s\n", SchemaFile)
	fmt.Fprintf(&b, "# For completion and checks in an editor: plimsoll simulate --schema > %s\n#\n", SchemaFile)
	fmt.Fprintf(&b, "# What would happen:              plimsoll simulate %s\n", file)
	fmt.Fprintf(&b, "# The cheapest sufficient layout: plimsoll plan %s\n", file)
	fmt.Fprintf(&b, "# Before buying anything:         plimsoll plan --new %s\n", file)
	fmt.Fprintf(&b, "plimsoll: 1\nname: %s\n", template.Product)
	b.WriteString("seed: 1                       # of all randomness: the same seed gives the same result\n")
	fmt.Fprintf(&b, "run: %s   # the measured time, and the warm-up before it\n\n",
		cmp.Or(template.Part.Run, runUsual))
	fmt.Fprintf(&b, "# The machine: plimsoll catalog list instances --platform %s\n", cloud.Name)
	fmt.Fprintf(&b, "host: {instance: %s, filesystem: xfs}\n\n", cloud.Instance)
	writeVolumes(&b, template, cloud)
	fmt.Fprintf(&b, "# Settings; the engine's own names work too, and omitted settings have their defaults.\nengine:\n  %s:\n%s\n",
		template.Key, indent(settings, "    "))
	fmt.Fprintf(&b, "# The load from clients. Operations start when they are due, whether or not earlier ones have ended.\n"+
		"workload:\n%s\n", indent(workload, "  "))
	fmt.Fprintf(&b, "# The objective to meet; plan looks for the cheapest layout that meets it.\nobjective: {write_p99: %s}\n",
		written(load.P99))

	return []byte(b.String()), nil
}

// runUsual covers some checkpoints of a minute. A plan makes dozens of such runs, so a first scenario's are
// short: for the scenarios of all engines, plans with runs of ten minutes chose the same layouts.
const runUsual = "{duration: 4min, warmup: 2min}"

// writeVolumes writes the volumes that the engine needs, and those it may have as comments.
func writeVolumes(b *strings.Builder, e database.With[*Template], cloud Cloud) {
	fmt.Fprintf(b, "# Volumes, by the engine's name for each: plimsoll catalog show %s\nvolumes:\n", cloud.Volume)
	for _, v := range e.Volumes {
		size, about := e.Part.Data, ""
		if v.Log {
			size, about = 10*units.GiB, "   # the log on a separate volume"
		}
		line := fmt.Sprintf("%s: {type: %s, size: %s}", v.Name, cloud.Volume, size.Exact())
		switch {
		case v.Needed, v.OneOf && v.Name == "data":
			fmt.Fprintf(b, "  %s\n", line)
		default:
			fmt.Fprintf(b, "  # %s%s\n", line, about)
		}
	}
	b.WriteString("\n")
}

// fill fills in a part of a template.
func fill(text string, load Load) (string, error) {
	t, err := template.New("scenario").Parse(text)
	if err != nil {
		return "", fmt.Errorf("scenario template: %w", err)
	}
	var b bytes.Buffer
	err = t.Execute(&b, map[string]string{"Writes": written(load.Writes), "Document": load.Document.Exact()})
	return b.String(), err
}

// written is a quantity in a scenario's notation, without loss.
func written(q encoding.TextMarshaler) string {
	text, err := q.MarshalText()
	if err != nil {
		panic("starter: " + err.Error()) // these quantities can always be written
	}
	return string(text)
}

// indent indents the lines of a text that is not empty.
func indent(text, by string) string {
	var b strings.Builder
	for line := range strings.Lines(strings.Trim(text, "\n")) {
		b.WriteString(by + strings.TrimRight(line, "\n") + "\n")
	}
	return b.String()
}
