package results

import (
	"fmt"
	"strings"

	"plimsoll/internal/advise/rollout"
	"plimsoll/internal/advise/rollout/steps"
	"plimsoll/internal/present/document"
)

// Rollout is the steps of a rollout, and where they stand.
func Rollout(r *rollout.Report) *document.Document {
	d := &document.Document{Kind: "Rollout", Title: "Rollout of " + r.Engine, Verdict: stands(r)}
	d.Lead = append(d.Lead, proofOf(r)...)

	for _, p := range r.Problems {
		d.Lead = append(d.Lead, "It cannot begin: "+p+".")
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

	d.Sections = append(d.Sections, s)
	if len(r.Left) > 0 {
		tab := &document.Table{Caption: "What the rollout does not do",
			Columns: []document.Column{{Text: "change"}, {Text: "from"}, {Text: "to"}}}
		for _, c := range r.Left {
			tab.Rows = append(tab.Rows, []document.Cell{{Text: c.Path, Roles: "code"}, {Text: orUnknown(c.From)},
				{Text: orUnknown(c.To)}})
		}
		d.Sections = append(d.Sections,
			document.Section{ID: "left", Title: "Not done by the rollout", Parts: []document.Part{
				{Text: "plimsoll emit writes the files for these changes."}, {Table: tab},
			}})
	}

	return d
}

// proofOf says what the recordings say, or how to make some.
func proofOf(r *rollout.Report) (out []string) {
	switch {
	case r.Proof != "" && r.Recordings != nil:
		text := r.ProofText // begins with the verdict, except where there is none
		if r.Proof == steps.NotCompared || text == "" {
			text = strings.TrimSuffix(r.Proof+": "+text, ": ")
		}
		out = append(out, "The recordings before and after: "+strings.TrimSuffix(text, ".")+".",
			fmt.Sprintf("plimsoll prove %s %s shows it in full.", r.Recordings.Before, r.Recordings.After))
	case r.Recordings == nil && r.Direction == "forward" && r.On != "":
		out = append(out,
			"It does not record: --record SOURCE does, with the address of a Prometheus server or of an exporter. "+
				"By hand: plimsoll record SOURCE --out before --for 10m, the same with --out after once it is done, and plimsoll prove before after. "+
				"Keep the old log until that says better.")
	case r.Recordings == nil && r.Direction == "forward":
		out = append(out, "It does not record (--record-for 0), so only --finish --force removes the old log.")
	}

	if r.Done && r.Proof == steps.Better && len(r.OldLog) > 0 {
		out = append(out, "To remove the old logs: "+strings.Join(r.OldLog, "; "))
	}

	return out
}

// about says where a step stands, and whether the engine is stopped after it.
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

// stands is a rollout's verdict.
func stands(r *rollout.Report) string {
	switch {
	case r.Busy:
		return fmt.Sprintf("Another process works on it now (%s): %d of %d steps are left.", r.Direction, left(r),
			len(r.Steps))
	case r.DryRun && len(r.Problems) > 0:
		return fmt.Sprintf("A dry run of %d steps%s: it cannot begin yet. Nothing was changed.",
			len(r.Steps), onWhat(r))
	case r.DryRun:
		return fmt.Sprintf("A dry run%s: %d steps are left, and every precondition that can be seen now holds. Nothing was changed.",
			onWhat(r), left(r))
	case r.On != "":
		return standsOn(r)
	case r.Direction == "undone":
		return "Undone: everything is where it was, and the engine runs."
	case r.Direction == "finished":
		return "Finished: the log is on its new volume, and the old one was removed."
	case r.Done && r.Proof == steps.Better:
		return "Done, and proved better. plimsoll rollout --finish removes the old log; --undo goes back."
	case r.Done:
		return "Done: the log is on its new volume. The old one is kept until the recordings prove better; --undo goes back."
	}
	return fmt.Sprintf("It stands in the middle (%s): %d of %d steps are left. --resume goes on, --undo goes back.",
		r.Direction, left(r), len(r.Steps))
}

func onWhat(r *rollout.Report) string {
	if r.On == "" {
		return ""
	}
	return " on " + r.On
}

// standsOn is the verdict of a rollout on a cluster.
func standsOn(r *rollout.Report) string {
	switch {
	case r.Direction == "undone":
		return "Undone: the StatefulSet and its pods are as they were. Volumes that grew and claims that were made stay."
	case r.Direction == "finished":
		return "Finished. Nothing was removed. A log that moved is still in its old place too, as LOG.plimsoll-old: remove it when you are content."
	case r.Done && r.Proof == steps.Better:
		return "Done, and proved better. --finish ends the rollout, --undo goes back."
	case r.Done:
		return "Done. --undo goes back, --finish ends the rollout."
	case left(r) == len(r.Steps) && r.Direction == "forward":
		return fmt.Sprintf("It has not begun: %d steps.", len(r.Steps))
	}
	return fmt.Sprintf("It stands in the middle (%s): %d of %d steps are left. --resume goes on, --undo goes back.",
		r.Direction, left(r), len(r.Steps))
}

func left(r *rollout.Report) int {
	n := 0
	for _, s := range r.Steps {
		if r.Direction == "forward" && s.Phase != "done" ||
			r.Direction == "undoing" && s.Phase != "undone" && s.Phase != "" {
			n++
		}
	}
	return n
}
