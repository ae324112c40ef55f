package main

import (
	"fmt"

	"plimsoll/internal/record/recording"
)

// damageShown is how many damaged places are listed.
const damageShown = 3

// reportDamage says on stderr what of the sources could not be read or was dropped, so that values are not
// taken for all there are.
func (a *app) reportDamage(readers []recording.Reader) {
	n := 0
	for _, r := range readers {
		if r == nil {
			continue
		}
		for _, note := range r.Notes() {
			// Other notes are remarks about data that was read completely.
			if note.Kind != recording.NoteDamage && note.Kind != recording.NoteDropped && note.Lost == 0 {
				continue
			}
			if n++; n <= damageShown {
				fmt.Fprintf(a.stderr, "plimsoll: warning: %s: %s\n", note.Source, note.Text)
			}
		}
	}

	if n > damageShown {
		fmt.Fprintf(a.stderr, "plimsoll: warning: %d more such places; plimsoll diagnose lists them\n",
			n-damageShown)
	}
}
