package results

import (
	"fmt"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/present/document"
)

// A Build describes the program. Its JSON is a contract: that of `plimsoll version -o json`.
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

// Version is which program this is.
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

// A Recorded is what was recorded. Its JSON is a contract: that of `plimsoll record -o json`.
type Recorded struct {
	Recording   string    `json:"recording"`
	Samples     int64     `json:"samples"`           // that were kept
	Dropped     int64     `json:"dropped,omitempty"` // that were not; the recording's notes say why
	Sources     int       `json:"sources"`
	From        time.Time `json:"from"`
	To          time.Time `json:"to"`
	Interrupted bool      `json:"interrupted"`
}

// Recording is a recording that was made.
func Recording(r *Recorded) *document.Document {
	what := fmt.Sprintf("%s samples", units.Number(float64(r.Samples)))
	if r.Dropped > 0 {
		what += fmt.Sprintf(" (%s more were dropped)", units.Number(float64(r.Dropped)))
	}
	return recorded("Recording", r.Recording, what, r.To.Sub(r.From), r.Interrupted)
}

// A Pushed is what a receiver took. Its JSON is a contract: that of `plimsoll record --remote-write
// -o json`.
type Pushed struct {
	RemoteWrite string    `json:"remote_write"`
	Recording   string    `json:"recording,omitempty"`
	Samples     int64     `json:"samples"` // those that the receiver accepted
	From        time.Time `json:"from"`
	To          time.Time `json:"to"`
	Interrupted bool      `json:"interrupted"`
}

// Push is what was pushed to a receiver.
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
