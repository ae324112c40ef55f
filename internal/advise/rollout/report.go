package rollout

import (
	"time"

	"plimsoll/internal/advise/emit"
)

// A Report is the steps of a rollout and where they stand. Its JSON is a contract, that of
// `plimsoll rollout -o json`: fields may be added, never changed.
type Report struct {
	Version int    `json:"version"`
	Engine  string `json:"engine"`
	Dir     string `json:"dir"` // of its state; "" for one on a cluster
	// On is the StatefulSet that it changes; "" for one on this machine.
	On     string `json:"on,omitempty"`
	DryRun bool   `json:"dry_run"`
	// Direction is forward, undoing, undone, finishing or finished.
	Direction string         `json:"direction"`
	Done      bool           `json:"done"` // every step is
	Steps     []ReportedStep `json:"steps"`
	// Left are the plan's changes that a rollout does not make.
	Left []emit.Change `json:"left"`
	// Problems are what keeps it from beginning, of a dry run.
	Problems []string `json:"problems"`
	// Proof is what the recordings say: better, worse, ...; "" before they are compared.
	Proof string `json:"proof,omitempty"`
}

// A ReportedStep is one of the steps, in words.
type ReportedStep struct {
	Name         string     `json:"name"`
	Member       string     `json:"member,omitempty"`
	Action       string     `json:"action"`
	Precondition string     `json:"precondition,omitempty"`
	Check        string     `json:"check,omitempty"`
	Undo         string     `json:"undo,omitempty"`
	Down         bool       `json:"engine_stopped"` // after the step
	Phase        string     `json:"phase,omitempty"`
	At           *time.Time `json:"at,omitempty"`
}
