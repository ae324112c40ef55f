package fit

import (
	"fmt"
	"strings"
	"time"

	"plimsoll/internal/base/units"
)

// A ShortError means that a recording is too short to fit.
type ShortError struct {
	Engine string        // "mongodb"
	Got    time.Duration // known time
	Need   time.Duration
	Why    string // "two checkpoints, which come every 60.0 s"
}

func (e *ShortError) Error() string {
	return fmt.Sprintf("recording too short: it covers %s of %s, but fit needs %s, %s",
		units.Seconds(e.Got.Seconds()), e.Engine, units.Seconds(e.Need.Seconds()), e.Why)
}

// Hint returns what to do.
func (e *ShortError) Hint() string {
	return fmt.Sprintf("record longer: plimsoll record SOURCE... --for %s --out DIR (a diagnostic.data folder has several days: use all of it)",
		e.Need.Round(time.Second))
}

// A MissingError means that a recording lacks something that a scenario requires.
type MissingError struct {
	What    string   // "how the volumes were used"
	Metrics []string // one alternative from each list is enough
	From    string   // where to get it
}

func (e *MissingError) Error() string {
	text := "not in the recording: " + e.What
	if len(e.Metrics) > 0 {
		text += " (" + strings.Join(e.Metrics, ", or ") + ")"
	}
	return text
}

// Hint returns where to get it.
func (e *MissingError) Hint() string { return e.From }

// An EngineError means that it is unclear which engine to fit.
type EngineError struct {
	Found   []string // keys in scenarios; nil: no engine was found
	Without string   // the engine without a database; "": none
}

func (e *EngineError) Error() string {
	if len(e.Found) == 0 {
		return "the recording contains no database, so its load is unknown"
	}
	return "the recording contains several databases, but a scenario has only one: " +
		strings.Join(e.Found, ", ")
}

// Hint returns how to choose.
func (e *EngineError) Hint() string {
	if len(e.Found) == 0 {
		hint := "add the database's own metrics (diagnostic.data, an exporter)"
		if e.Without != "" {
			hint += ", or use --engine " + e.Without + " for the device's I/O without a database"
		}
		return hint
	}
	return "use --engine " + strings.Join(e.Found, " or ")
}
