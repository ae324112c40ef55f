package main

import (
	"fmt"

	"plimsoll/internal/record/recording"
)

// damageShown is how many damaged places are listed.
const damageShown = 3

// reportDamage says on stderr which parts of the sources could not be read or were dropped, so that no one
// mistakes the values for complete ones.
func (a *app) reportDamage(readers []recording.Reader) {
	var lost []recording.Note
	for _, r := range readers {
		if r == nil {
			continue
		}
		for _, note := range r.Notes() {
			// Other notes are remarks about data that was read completely.
			if note.Kind == recording.NoteDamage || note.Kind == recording.NoteDropped || note.Lost > 0 {
				lost = append(lost, note)
			}
		}
	}
	a.reportLost(lost)
}

// reportLost prints the first notes about what was lost, and the number of the others.
func (a *app) reportLost(notes []recording.Note) {
	n := len(notes)
	for _, note := range notes[:min(n, damageShown)] {
		fmt.Fprintf(a.stderr, "plimsoll: warning: %s: %s\n", note.Source, note.Text)
	}

	if n > damageShown {
		fmt.Fprintf(a.stderr, "plimsoll: warning: %d more such places; plimsoll diagnose lists them\n",
			n-damageShown)
	}
}
