package rollout

import (
	"time"

	"plimsoll/internal/advise/emit"
	"plimsoll/internal/advise/rollout/steps"
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
	// Busy says that another process works on it now.
	Busy bool `json:"busy,omitempty"`
	// Direction is forward, undoing, undone, finishing or finished.
	Direction string         `json:"direction"`
	Done      bool           `json:"done"` // every step is
	Steps     []ReportedStep `json:"steps"`
	// Left are the plan's changes that a rollout does not make.
	Left []emit.Change `json:"left"`
	// Problems are what keeps it from beginning, of a dry run.
	Problems []string `json:"problems"`
	// Proof is what the recordings say: better, worse, ...; "" before they are compared. ProofText
	// says it in a sentence.
	Proof     string `json:"proof,omitempty"`
	ProofText string `json:"proof_text,omitempty"`
	// Recordings are their folders; nil if it does not record.
	Recordings *Recordings `json:"recordings,omitempty"`
	// OldLog are the commands that remove old logs, where nobody else does.
	OldLog []string `json:"old_log,omitempty"`
}

// Recordings are the folders of the recordings from before and after.
type Recordings struct {
	Before string `json:"before"`
	After  string `json:"after"`
}

// Folders are where recordings are, for a report; nil for none.
func Folders(r *steps.Recordings) *Recordings {
	if r == nil {
		return nil
	}
	before, after := r.Folders()
	return &Recordings{before, after}
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

// Reported are steps and where they stand, for a report.
func Reported(all []steps.Step, stand []steps.State) []ReportedStep {
	out := make([]ReportedStep, len(all))
	for i := range all {
		s, is := &all[i], &stand[i]
		out[i] = ReportedStep{
			Name: s.Name, Member: s.Member, Action: s.What, Precondition: s.Needs, Check: s.Checks, Undo: s.Undoes,
			Down: s.Down, Phase: string(is.Phase),
		}
		if is.Phase != "" {
			out[i].At = &is.At
		}
	}
	return out
}
