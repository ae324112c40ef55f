package results

import (
	"fmt"
	"time"

	"plimsoll/internal/present/document"
)

// A Marked is a mark that was set. Its JSON is the contract of `plimsoll mark -o json`.
type Marked struct {
	At    time.Time `json:"at"`
	Text  string    `json:"text"`
	Where string    `json:"where"` // the watch's address, or the recording's folder
}

// Mark says where and when a mark was set.
func Mark(r *Marked, zone *time.Location) *document.Document {
	return &document.Document{Kind: "Mark", Title: r.Text,
		Verdict: fmt.Sprintf("Marked %q at %s in %s.", r.Text,
			r.At.In(zone).Format("2006-01-02 15:04:05 MST"), r.Where)}
}
