package pods

import (
	"context"

	"plimsoll/internal/advise/rollout"
)

// Report describes the rollout, as one on a machine is described. With look, it also says what
// keeps it from beginning.
func (r *Rollout) Report(ctx context.Context, look bool) *rollout.Report {
	out := &rollout.Report{
		Version: 1, Engine: r.state.Engine, On: r.at.String(), Direction: r.state.Direction, Done: r.Done(), Left: r.state.Left, Problems: []string{},
	}
	if look {
		for _, err := range r.Problems(ctx) {
			out.Problems = append(out.Problems, said(err))
		}
	}
	for i, s := range r.course.Steps {
		is := &r.course.Stand[i]
		step := rollout.ReportedStep{
			Name: s.Name, Member: s.Member, Action: s.What, Precondition: s.Needs, Check: s.Checks, Undo: s.Undoes, Down: s.Down, Phase: string(is.Phase),
		}
		if is.Phase != "" {
			step.At = &is.At
		}
		out.Steps = append(out.Steps, step)
	}
	return out
}
