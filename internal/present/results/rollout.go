package results

import (
	"cmp"
	"fmt"
	"strings"

	"plimsoll/internal/advise/rollout"
	"plimsoll/internal/advise/rollout/steps"
	"plimsoll/internal/present/document"
)

// Rollout shows the steps of a rollout and their state.
func Rollout(r *rollout.Report) *document.Document {
	d := &document.Document{Kind: "Rollout", Title: "Rollout of " + r.Engine, Verdict: rolloutState(r)}
	d.Lead = append(d.Lead, proofOf(r)...)

	for _, p := range r.Problems {
		d.Lead = append(d.Lead, "Cannot start: "+p+".")
	}

	s := document.Section{ID: "steps", Title: "Steps"}
	for i, step := range r.Steps {
		t := document.Task{ID: fmt.Sprintf("step%d", i+1), Number: i + 1, Title: step.Name,
			About: about(&r.Steps[i])}
		for _, x := range []document.Step{
			{Label: "does", Text: step.Action}, {Label: "needs", Text: step.Precondition},
			{Label: "checks", Text: step.Check}, {Label: "undo", Text: step.Undo},
		} {
			if x.Text != "" {
				t.Steps = append(t.Steps, x)
			}
		}
		s.Parts = append(s.Parts, document.Part{Tasks: []document.Task{t}})
	}

	d.Add(s)
	if len(r.Left) > 0 {
		tab := document.NewTable("Changes the rollout does not make", "change", "from", "to")
		for _, c := range r.Left {
			tab.Add([]document.Cell{{Text: c.Path, Roles: "code"}, {Text: cmp.Or(c.From, unknown)},
				{Text: cmp.Or(c.To, unknown)}})
		}
		d.Add(document.Section{ID: "left", Title: "Not done by the rollout",
			Parts: []document.Part{{Text: "plimsoll emit writes the files for these changes."}, {Table: tab}}})
	}

	return d
}

// proofOf states what the recordings show, or how to make recordings.
func proofOf(r *rollout.Report) (out []string) {
	switch {
	case r.Proof != "" && r.Recordings != nil:
		text := r.ProofText // starts with the verdict, if there is one
		if r.Proof == steps.NotCompared || text == "" {
			text = strings.TrimSuffix(r.Proof+": "+text, ": ")
		}
		out = append(out, "The recordings before and after: "+strings.TrimSuffix(text, ".")+".",
			fmt.Sprintf("Details: plimsoll prove %s %s.", r.Recordings.Before, r.Recordings.After))
	case r.Recordings == nil && r.Direction == "forward" && r.On != "":
		out = append(out,
			"Nothing is recorded. Use --record SOURCE, with the address of a Prometheus server or an exporter, to record. "+
				"To do it by hand: plimsoll record SOURCE --out before --for 10m, the same with --out after once the rollout is done, then plimsoll prove before after. "+
				"Keep the old log until that reports better.")
	case r.Recordings == nil && r.Direction == "forward":
		out = append(out, "Nothing is recorded (--record-for 0), so only --finish --force removes the old log.")
	}

	// The old log is the way back, so its removal is only offered once the change is proved.
	if r.Done && r.Proof == steps.Better && len(r.OldLog) > 0 {
		out = append(out, "To remove the old logs: "+strings.Join(r.OldLog, "; "))
	}

	return out
}

// about states a step's phase, and whether the engine is stopped after it.
func about(s *rollout.ReportedStep) string {
	var parts []string
	if s.Phase != "" {
		parts = append(parts, s.Phase)
	}
	if s.Down {
		parts = append(parts, "the engine is stopped afterwards")
	}
	return strings.Join(parts, "; ")
}

// rolloutState is a rollout's verdict.
func rolloutState(r *rollout.Report) string {
	switch {
	case r.Busy:
		return fmt.Sprintf("Another process is working on this rollout (%s): %d of %d steps left.",
			r.Direction, left(r),
			len(r.Steps))
	case r.DryRun && len(r.Problems) > 0:
		return fmt.Sprintf("Dry run of %d steps%s: the rollout cannot start yet. Nothing was changed.",
			len(r.Steps), onWhat(r))
	case r.DryRun:
		return fmt.Sprintf("Dry run%s: %d steps left; every precondition that can be checked now holds. Nothing was changed.",
			onWhat(r), left(r))
	case r.On != "":
		return clusterState(r)
	case r.Direction == "undone":
		return "Undone: everything is back in place, and the engine is running."
	case r.Direction == "finished":
		return "Finished: the log is on its new volume, and the old one was removed."
	case r.Done && r.Proof == steps.Better:
		return "Done, and proved better. plimsoll rollout --finish removes the old log; --undo reverts the rollout."
	case r.Done:
		return "Done: the log is on its new volume. The old one is kept until the recordings prove better; --undo reverts the rollout."
	}

	return fmt.Sprintf("In progress (%s): %d of %d steps left. --resume continues, --undo reverts the rollout.",
		r.Direction, left(r), len(r.Steps))
}

func onWhat(r *rollout.Report) string {
	if r.On == "" {
		return ""
	}
	return " on " + r.On
}

// clusterState is the verdict of a rollout on a cluster.
func clusterState(r *rollout.Report) string {
	switch {
	case r.Direction == "undone":
		return "Undone: the StatefulSet and its pods are as before. Volumes that were grown and claims that were created remain."
	case r.Direction == "finished":
		return "Finished. Nothing was removed. A log that was moved is still in its old place too, as LOG.plimsoll-old: remove it once you are satisfied."
	case r.Done && r.Proof == steps.Better:
		return "Done, and proved better. --finish ends the rollout, --undo reverts it."
	case r.Done:
		return "Done. --undo reverts the rollout, --finish ends it."
	case left(r) == len(r.Steps) && r.Direction == "forward":
		return fmt.Sprintf("Not started: %d steps.", len(r.Steps))
	}
	return fmt.Sprintf("In progress (%s): %d of %d steps left. --resume continues, --undo reverts the rollout.",
		r.Direction, left(r), len(r.Steps))
}

func left(r *rollout.Report) int {
	n := 0
	for _, s := range r.Steps {
		// While undoing, a step without a phase was never done, so it needs no undo.
		if r.Direction == "forward" && s.Phase != "done" ||
			r.Direction == "undoing" && s.Phase != "undone" && s.Phase != "" {
			n++
		}
	}
	return n
}
