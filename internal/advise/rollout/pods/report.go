package pods

import (
	"context"
	"fmt"

	"plimsoll/internal/advise/emit"
	"plimsoll/internal/advise/rollout"
	"plimsoll/internal/advise/rollout/steps"
)

// Report describes the rollout in the same form as one on a machine. With check, it also lists the
// reasons why it cannot start.
func (r *Rollout) Report(ctx context.Context, check bool) *rollout.Report {
	out := &rollout.Report{
		Version: 1, Engine: r.state.Engine, On: r.at.String(), Direction: r.state.Direction, Done: r.Done(),
		Left: r.state.Left, Problems: []string{},
		Proof: r.state.Proof, ProofText: r.state.ProofText, Recordings: rollout.Folders(r.recordings()),
		OldLog: r.oldLog(),
	}
	if check {
		for _, err := range r.Problems(ctx) {
			out.Problems = append(out.Problems, steps.Hinted(err))
		}
	}
	out.Steps = rollout.Reported(r.course.Steps, r.course.Stand)
	return out
}

// oldLog returns the commands that remove the old logs, one per pod; nil if no log moves.
func (r *Rollout) oldLog() []string {
	if r.state.Change.Log == "" || r.state.Direction == steps.IsUndone {
		return nil
	}
	from, _ := logPaths(r.state.Change.After)
	var out []string
	for i := range emit.Replicas(r.state.Before) {
		out = append(out, fmt.Sprintf("kubectl exec -n %s %s -c %s -- rm -r %s.plimsoll-old", r.at.Namespace,
			r.pod(i), r.state.Change.Container, from))
	}
	return out
}
