package rollout

import (
	"time"

	"plimsoll/internal/advise/emit"
	"plimsoll/internal/advise/rollout/steps"
)

// A Report is the steps of a rollout with their progress. Its JSON is the output of
// `plimsoll rollout -o json` and a contract: fields may be added, never changed.
type Report struct {
	Version int    `json:"version"`
	Engine  string `json:"engine"`
	Dir     string `json:"dir"` // the state's folder; "" for a rollout on a cluster
	// On is the StatefulSet that it changes; "" for a rollout on this machine.
	On     string `json:"on,omitempty"`
	DryRun bool   `json:"dry_run"`
	// Busy: another process is working on the rollout now.
	Busy bool `json:"busy,omitempty"`
	// Direction is forward, undoing, undone, finishing or finished.
	Direction string         `json:"direction"`
	Done      bool           `json:"done"` // every step is done
	Steps     []ReportedStep `json:"steps"`
	// Left are the plan's changes that the rollout does not make.
	Left []emit.Change `json:"left"`
	// Problems are the reasons why the rollout cannot start, for a dry run.
	Problems []string `json:"problems"`
	// Proof is the verdict of comparing the recordings: better, worse, ...; "" before. ProofText is the
	// verdict in a sentence.
	Proof     string `json:"proof,omitempty"`
	ProofText string `json:"proof_text,omitempty"`
	// Recordings are the folders of the recordings; nil: none.
	Recordings *Recordings `json:"recordings,omitempty"`
	// OldLog are the commands for removing old logs that the rollout does not remove itself.
	OldLog []string `json:"old_log,omitempty"`
}

// Recordings are the folders of the recordings from before and after.
type Recordings struct {
	Before string `json:"before"`
	After  string `json:"after"`
}

// Folders returns the folders of recordings for a report; nil without recordings.
func Folders(r *steps.Recordings) *Recordings {
	if r == nil {
		return nil
	}
	before, after := r.Folders()
	return &Recordings{before, after}
}

// A ReportedStep describes a step in words.
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

// Reported returns steps with their progress for a report.
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
