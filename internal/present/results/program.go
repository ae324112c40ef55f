package results

import (
	"fmt"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/present/document"
)

// A Build describes the program. Its JSON is the contract of `plimsoll version -o json`.
type Build struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	// Date is when the revision was committed (RFC 3339, UTC), not when it was built.
	Date     string `json:"date,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	// Contract is the version of `diagnose -o json`.
	Contract int `json:"diagnose_json_version"`
}

// Version shows the version of the program.
func Version(b *Build) *document.Document {
	text := "plimsoll " + b.Version
	if b.Revision != "" {
		text += " (" + b.Revision
		if b.Modified {
			text += ", modified"
		}
		text += ")"
	}
	return &document.Document{Kind: "Version", Title: "plimsoll " + b.Version,
		Verdict: fmt.Sprintf("%s, %s, %s", text, b.Go, b.Platform)}
}

// A Recorded describes a finished recording. Its JSON is the contract of `plimsoll record -o json`.
type Recorded struct {
	Recording   string    `json:"recording"`
	Samples     int64     `json:"samples"`           // kept samples
	Dropped     int64     `json:"dropped,omitempty"` // dropped samples; the recording's notes say why
	Sources     int       `json:"sources"`
	From        time.Time `json:"from"`
	To          time.Time `json:"to"`
	Interrupted bool      `json:"interrupted"`
}

// Recording shows a finished recording.
func Recording(r *Recorded) *document.Document {
	what := fmt.Sprintf("%s samples", units.Number(float64(r.Samples)))
	if r.Dropped > 0 {
		what += fmt.Sprintf(" (%s more were dropped)", units.Number(float64(r.Dropped)))
	}
	return recorded("Recording", r.Recording, what, r.To.Sub(r.From), r.Interrupted)
}

// A Pushed describes samples pushed to a receiver. Its JSON is the contract of `plimsoll record
// --remote-write -o json`.
type Pushed struct {
	RemoteWrite string    `json:"remote_write"`
	Recording   string    `json:"recording,omitempty"`
	Samples     int64     `json:"samples"` // accepted by the receiver
	From        time.Time `json:"from"`
	To          time.Time `json:"to"`
	Interrupted bool      `json:"interrupted"`
}

// Push shows what was pushed to a receiver.
func Push(r *Pushed) *document.Document {
	return recorded("Push", r.RemoteWrite, fmt.Sprintf("%s samples pushed", units.Number(float64(r.Samples))),
		r.To.Sub(r.From), r.Interrupted)
}

func recorded(kind, where, what string, span time.Duration, interrupted bool) *document.Document {
	text := fmt.Sprintf("%s: %s, %s of time", where, what, units.Seconds(span.Seconds()))
	if interrupted {
		text += ", stopped by a signal"
	}
	return &document.Document{Kind: kind, Title: where, Verdict: text}
}
