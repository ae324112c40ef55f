package act

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/base/shellword"
	"plimsoll/internal/judge/rules"
)

// findWriter is the name of the action that finds the program that writes, so that it can be added
// to the sources.
const findWriter = "find-writer"

// A writer is a program on this host that wrote a large share of all bytes, as reported by the host source.
type writer struct {
	name, pid string
	devices   []string // of its open files
	port      int
	share     float64
}

// writersOf are the writers in the sources, the largest first.
func writersOf(facts map[string]string) (out []writer) {
	for i := 1; facts["writer."+strconv.Itoa(i)] != ""; i++ {
		fields := strings.Fields(facts["writer."+strconv.Itoa(i)])
		w := writer{name: fields[0]}
		for _, f := range fields[1:] {
			switch name, v, _ := strings.Cut(f, "="); name {
			case "pid":
				w.pid = v
			case "device":
				w.devices = strings.Split(v, ",")
			case "share":
				w.share, _ = strconv.ParseFloat(v, 64)
			case "port":
				w.port, _ = strconv.Atoi(v)
			}
		}

		out = append(out, w)
	}
	return out
}

// writerOf is the largest writer to a device. A writer whose devices are unknown may write to any.
func writerOf(c *rules.Case, device string) (writer, bool) {
	all := writersOf(c.Facts)
	i := slices.IndexFunc(all,
		func(w writer) bool { return len(w.devices) == 0 || slices.Contains(w.devices, device) })
	if i < 0 {
		return writer{}, false
	}
	return all[i], true
}

// diagnosis is the command that diagnoses a writer, if it is a database server that Plimsoll supports.
func (w writer) diagnosis(pack *rules.Pack) (product, command string) {
	for _, e := range pack.Engines() {
		if !slices.Contains(e.Programs, w.name) {
			continue
		}
		if e.Scheme == "" {
			return e.Product, ""
		}
		at := "localhost"
		if w.port > 0 {
			at += ":" + strconv.Itoa(w.port)
		}
		return e.Product, "plimsoll diagnose host " + shellword.Readable(e.Scheme+"://"+at)
	}
	return "", ""
}

// first is the free step before buying anything if no source shows which program writes: that program's
// bursts reach the limit. It is nil if a database is in the sources, or if there is a free action
// already.
func (w *where) first(c *rules.Case, out []Action) *Action {
	if len(c.Engines) > 0 || len(out) == 0 || out[0].Money == "" {
		return nil
	}

	of := &out[0]
	a := &Action{Remedy: findWriter, Title: "Find out what writes: smaller bursts cost nothing", Rule: of.Rule,
		Subject: of.Subject,
		Expect:  "the program's own settings spread the same bytes over more seconds", Place: string(w.place),
		PlaceKnown: w.known, Host: w.host,
		Look: []string{}, Do: []string{}, Keep: []string{}, Check: []string{}, Undo: []string{}, Notes: []string{},
		Raises: []string{}, Prove: []string{}}

	// Without the host source there is no list of writers, so show how to get one.
	x, known := writerOf(c, of.Subject)
	if !known {
		a.Look = []string{"sudo pidstat -d 1 10"}
		a.Notes = append(
			a.Notes, "If it is a database, diagnose it together with this source: plimsoll diagnose SOURCE... ADDRESS")
		return a
	}

	where := ""
	if slices.Contains(x.devices, of.Subject) {
		where = " to " + of.Subject
	}

	product, command := x.diagnosis(c.Pack)
	if command != "" {
		a.Title = "Diagnose " + product + ", which writes" + where + ": smaller bursts cost nothing"
		a.Look = []string{command}
	}

	a.Notes = append(a.Notes,
		fmt.Sprintf("%s (pid %s%s) wrote %.0f %% of all bytes written by this host's processes%s.",
			x.name, x.pid, portOf(x), 100*x.share, where))
	return a
}

func portOf(w writer) string {
	if w.port == 0 {
		return ""
	}
	return ", port " + strconv.Itoa(w.port)
}
