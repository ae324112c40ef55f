package brief

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/present/document"
)

// findings adds the clients' latency, the cause, the other causes, what was ruled out, and missing
// evidence.
func (s *screen) findings() {
	causes, symptoms := s.all(document.Cause), s.all(document.Symptom)
	shown := 0

	// A symptom of other operations would be read as the latency of those that the verdict is about. Some
	// have none: etcd's syncs are judged by a cause.
	for _, x := range symptoms {
		if x.Essential || x.Aside || x.Level == document.Info {
			continue
		}
		text := x.Brief
		if text == "" {
			text = x.Summary
		}
		if text = sentences(text, s.symptom); text != "" {
			s.term("latency", text)
			shown++
		}
		break
	}

	if len(causes) > 0 && causes[0].Level != document.Info {
		s.term("cause", s.cause(causes[0]))
		shown++
		if more := serious(causes[1:]); s.others && len(more) > 0 {
			s.term("also", titles(more))
			shown += len(more)
		}
	}

	if not := s.all(document.Refuted); s.others && len(not) > 0 {
		s.term("not", titles(not))
		shown += len(not)
	}

	for _, x := range symptoms {
		if x.Essential {
			s.missing(x)
			shown++
		}
	}

	s.leave(len(causes)+len(symptoms)+len(s.all(document.Refuted))-shown, "more finding", "more findings")
}

// cause is a cause with the share of the stall that it explains.
func (s *screen) cause(x document.Finding) string {
	text := titled(x)
	if x.Weight != "" {
		text += ", " + x.Weight
	}
	if why := sentences(x.Summary, s.sentences); why != "" {
		return text + ". " + why
	}
	return text + "."
}

// missing says which evidence is missing or damaged.
func (s *screen) missing(x document.Finding) {
	lines := []string{x.Summary}
	for i, o := range x.Observations {
		if i == s.evidence && len(x.Observations) > s.evidence+1 {
			s.leave(len(x.Observations)-i, "more place where evidence is missing",
				"more places where evidence is missing")
			break
		}
		text := o.Text
		if o.Value != "" {
			text = o.Value + " " + text
		}
		if o.When.Text != "" && !o.Whole {
			text += " (" + o.When.Text + ")"
		}
		lines = append(lines, text)
	}

	s.term("missing", lines...)
}

// serious are the causes that explain part of the stall.
func serious(all []document.Finding) []document.Finding {
	return slices.DeleteFunc(slices.Clone(all),
		func(x document.Finding) bool { return x.Level == document.Info })
}

// titlesMax is how many findings of a kind are named.
const titlesMax = 3

// titles lists findings on one line.
func titles(all []document.Finding) string {
	var names []string
	for _, x := range all {
		name := titled(x)
		if x.Weight != "" {
			name += ", " + x.Weight
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	// "1 more" takes as much room as a title.
	if n := len(names); n > titlesMax+1 {
		names = append(names[:titlesMax], document.Counted(float64(n-titlesMax))+" more")
	}
	return strings.Join(names, "; ")
}

func titled(x document.Finding) string {
	if x.Subject == "" {
		return x.Title
	}
	return x.Title + " (" + x.Subject + ")"
}

// sentences returns the first n sentences of a text.
func sentences(text string, n int) string {
	end := 0
	for range n {
		first := document.FirstSentence(text[end:])
		if end += len(first); end >= len(text) {
			return text
		}
		end++ // the space
	}
	return strings.TrimSpace(text[:end])
}

// fix is the first fix with all of its steps, and the next ones by title.
func (s *screen) fix() []document.Section {
	now := cmp.Or(s.from.Now, s.from.Onward)
	if now == nil {
		return nil
	}

	var all []document.Task
	// The first task is in Now; the others are in a section further down.
	for _, section := range append([]document.Section{*now}, s.from.Sections...) {
		for _, p := range section.Parts {
			all = append(all, p.Tasks...)
		}
	}

	if len(all) == 0 {
		return nil
	}

	first := all[0]
	// The section has no heading on this screen, so the title says what it is.
	first.Title = now.Title + ": " + document.LowerFirst(first.Title)
	first.Steps = hintedOnce(s.steps(first.Steps))
	out := document.Section{ID: now.ID, Parts: []document.Part{{Tasks: []document.Task{first}}}}
	shown := min(len(all)-1, s.then)
	for _, t := range all[1 : 1+shown] {
		t.Steps = nil
		if t.Brief != "" {
			t.About = t.Brief
		}
		out.Parts[0].Tasks = append(out.Parts[0].Tasks, t)
	}

	switch n := len(all); {
	case s.terse:
	case n == 2:
		s.left = append(s.left, "the commands of fix 2")
	case n > 2:
		s.left = append(s.left, "the commands of fixes 2 to "+strconv.Itoa(n))
	}

	return []document.Section{out}
}

// steps are the steps of the first fix: all of its commands or none.
func (s *screen) steps(all []document.Step) (out []document.Step) {
	if !s.commands {
		s.left = append(s.left, "the commands of the first fix")
	}

	look := commandsOf(all, "look")
	notes, reads := 0, 0
	label := ""
	for _, step := range all {
		// A step without a label continues the one before it.
		if step.Label != "" {
			label = step.Label
		}

		// The command of the proof is needed only after the wait.
		if label == "prove" && !s.proof {
			if step.Text != "" {
				step.Text += " (command: --full)"
				out = append(out, step)
			}
			continue
		}

		switch {
		case step.Minor && !s.notes:
			if step.Text != "" || len(step.Commands) > 0 {
				notes++
			}
			continue
		// The benefit and cost of a fix decide whether to look at its commands at all.
		case !s.commands && label != "expect" && label != "costs":
			continue
		case step.Label == "expect" && !s.detail:
			step.Text, _, _ = strings.Cut(step.Text, ";")
		case !s.reads && (label == "look" || label == "check"):
			all := len(step.Commands)
			step.Commands = slices.DeleteFunc(slices.Clone(step.Commands), func(c string) bool { return !saves(c) })
			reads += all - len(step.Commands)
			if len(step.Commands) == 0 && step.Text == "" {
				continue
			}
		case step.Label == "check" && len(step.Commands) == 1 && slices.Contains(look, step.Commands[0]):
			step.Commands, step.Text = nil, "run the first command of \"look\" again"
		}

		out = append(out, step)
	}

	if !s.commands && s.again != "" {
		out = append(out, document.Step{Label: "see", Commands: []string{s.again}})
	}
	s.leave(reads, "command of the first fix that only reads", "commands of the first fix that only read")
	if !s.terse {
		s.leave(notes, "note on the first fix", "notes on the first fix")
	}
	return out
}

func commandsOf(all []document.Step, label string) []string {
	for _, x := range all {
		if x.Label == label {
			return x.Commands
		}
	}
	return nil
}

// saves reports whether a command writes something that a later one needs: the former settings for the
// undo, a script, or a recording for the proof.
func saves(command string) bool {
	return strings.Contains(command, ".before") || strings.Contains(command, " --out ")
}

// variable is a shell variable to fill in, with the hint that the shell prints if it is not set.
var variable = regexp.MustCompile(`\$\{([A-Za-z_]+):\?([^}]*)\}`)

// hintedOnce keeps the hint of each variable at its first mention. The shell still refuses the others
// without a value.
func hintedOnce(all []document.Step) []document.Step {
	hints := map[string]string{}
	for _, x := range all {
		for _, c := range x.Commands {
			for _, m := range variable.FindAllStringSubmatch(c, -1) {
				hints[m[1]] = cmp.Or(hints[m[1]], m[2])
			}
		}
	}

	for i := range all {
		all[i].Commands = slices.Clone(all[i].Commands)
		for k, c := range all[i].Commands {
			all[i].Commands[k] = variable.ReplaceAllStringFunc(c, func(v string) string {
				name := variable.FindStringSubmatch(v)[1]
				hint := hints[name]
				hints[name] = ""
				return "${" + name + ":?" + hint + "}"
			})
		}
	}
	return all
}
