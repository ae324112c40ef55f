package fit

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/scenario"
)

// lineMax is the maximum length of a comment line.
const lineMax = 110

// YAML returns the scenario in the syntax of package scenario. A comment above each value has its
// evidence, and defaults are commented out.
func (f *Fitted) YAML() []byte {
	head := []string{
		fmt.Sprintf("Fitted from a recording of %s (%s).", units.Seconds(f.To.Sub(f.From).Seconds()),
			f.From.UTC().Format(time.RFC3339)),
		"Each value is marked as measured, inferred from measurements, or not in the recording and assumed.",
	}
	return Write(f.Name, head, f.Remarks, f.Values, "not in the recording")
}

// Write returns values as the YAML of a scenario. The head and the remarks become comments above it;
// unknown is the beginning of the comments of assumed values.
func Write(name string, head, remarks []string, values []Value, unknown string) []byte {
	var b bytes.Buffer
	for _, line := range head {
		comment(&b, 0, line)
	}
	for _, r := range remarks {
		comment(&b, 0, "Note: "+r)
	}
	fmt.Fprintf(&b, "plimsoll: 1\nname: %s\nseed: 1\n", strconv.Quote(name))
	root := &branch{unknown: unknown}
	for i := range values {
		root.put(strings.Split(values[i].Key, "."), &values[i])
	}
	root.write(&b, 0)
	return b.Bytes()
}

// Scenario returns the fitted scenario, with assignments applied: the same as [Fitted.YAML] without its
// comments. The error is of type [scenario.Problems] if the result is not a valid scenario.
func (f *Fitted) Scenario(l *scenario.Language, over ...scenario.Set) (*scenario.Scenario, error) {
	sets := []scenario.Set{{Path: "plimsoll", Value: "1"}, {Path: "name", Value: strconv.Quote(f.Name)},
		{Path: "seed", Value: "1"}}
	chosen := false
	for i := range f.Values {
		v := &f.Values[i]
		// Assignments below the engine need the engine itself first.
		if first(v.Key) == "engine" && !chosen { // an engine may have only defaults
			chosen = true
			sets = append(sets, scenario.Set{Path: "engine." + f.Engine, Value: "{}"})
		}
		if !v.Default && v.Text != "" {
			sets = append(sets, scenario.Set{Path: v.Key, Value: v.Text})
		}
	}

	return l.Make(f.Name, append(sets, over...))
}

// A branch is a mapping of the YAML, or a value in one.
type branch struct {
	key     string
	value   *Value
	parts   []*branch
	unknown string // the beginning of the comments of assumed values
}

func (n *branch) put(path []string, v *Value) {
	for _, p := range n.parts {
		if p.key == path[0] && p.value == nil && len(path) > 1 {
			p.put(path[1:], v)
			return
		}
	}
	p := &branch{key: path[0], unknown: n.unknown}
	n.parts = append(n.parts, p)
	if len(path) == 1 {
		p.value = v
		return
	}
	p.put(path[1:], v)
}

// says reports whether anything in the branch is not a comment.
func (n *branch) says() bool {
	if n.value != nil {
		return !n.value.Default
	}
	for _, p := range n.parts {
		if p.says() {
			return true
		}
	}
	return false
}

func (n *branch) write(b *bytes.Buffer, depth int) {
	for _, p := range n.parts {
		indent := strings.Repeat("  ", depth)
		switch {
		case p.value != nil:
			p.value.write(b, p.key, depth, n.unknown)
			continue
		case p.says():
			fmt.Fprintf(b, "%s%s:\n", indent, p.key)
		case depth == 1 && n.key == "engine":
			fmt.Fprintf(b, "%s%s: {}\n", indent, p.key) // the engine must be named even if it only has defaults
		default:
			fmt.Fprintf(b, "%s# %s:\n", indent, p.key)
		}

		p.write(b, depth+1)
	}
}

func (v *Value) write(b *bytes.Buffer, key string, depth int, unknown string) {
	how := string(v.Known)
	if v.Known == Assumed {
		how = unknown
	}

	text := how + ": " + v.Evidence
	switch {
	case v.Low != nil && v.High != nil:
		text += fmt.Sprintf("; between %s and %s", units.Value(*v.Low, v.Unit), units.Value(*v.High, v.Unit))
	case v.Low != nil:
		text += "; at least " + units.Value(*v.Low, v.Unit)
	case v.High != nil:
		text += "; at most " + units.Value(*v.High, v.Unit)
	}

	if v.Measure != "" {
		text += ". To find out: " + v.Measure
	}

	comment(b, depth, text)
	if v.Text == "" {
		return
	}

	mark := ""
	if v.Default {
		mark = "# "
	}

	indent := strings.Repeat("  ", depth)
	fmt.Fprintf(b, "%s%s%s: %s\n", indent, mark, key, v.Text)

	for _, or := range v.Or {
		fmt.Fprintf(b, "%s# or the whole volume: %s\n", indent, or)
	}
}

// comment writes text as comment lines.
func comment(b *bytes.Buffer, depth int, text string) {
	indent := strings.Repeat("  ", depth) + "#"
	line := indent
	for _, w := range strings.Fields(text) {
		if len(line)+1+len(w) > lineMax && line != indent {
			b.WriteString(line + "\n")
			line = indent
		}
		line += " " + w
	}
	b.WriteString(line + "\n")
}

// first is a path's first key.
func first(path string) string {
	key, _, _ := strings.Cut(path, ".")
	return key
}
