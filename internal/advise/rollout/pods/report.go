package pods

import (
	"context"
	"fmt"

	"plimsoll/internal/advise/discover"
	"plimsoll/internal/advise/rollout"
	"plimsoll/internal/advise/rollout/steps"
)

// Report describes the rollout, as one on a machine is described. With look, it also says what
// keeps it from beginning.
func (r *Rollout) Report(ctx context.Context, look bool) *rollout.Report {
	out := &rollout.Report{
		Version: 1, Engine: r.state.Engine, On: r.at.String(), Direction: r.state.Direction, Done: r.Done(),
		Left: r.state.Left, Problems: []string{},
		Proof: r.state.Proof, ProofText: r.state.ProofText, Recordings: rollout.Folders(r.recordings()),
		OldLog: r.oldLog(),
	}
	if look {
		for _, err := range r.Problems(ctx) {
			out.Problems = append(out.Problems, steps.Hinted(err))
		}
	}
	out.Steps = rollout.Reported(r.course.Steps, r.course.Stand)
	return out
}

// oldLog are the commands that remove the old logs, one for each pod; none if no log moves.
func (r *Rollout) oldLog() []string {
	if r.state.Change.Log == "" || r.state.Direction == Undone {
		return nil
	}
	from, _ := logPaths(r.state.Change.After)
	var out []string
	for i := range discover.Replicas(r.state.Before) {
		out = append(out, fmt.Sprintf("kubectl exec -n %s %s -c %s -- rm -r %s.plimsoll-old", r.at.Namespace,
			r.pod(i), r.state.Change.Container, from))
	}
	return out
}
