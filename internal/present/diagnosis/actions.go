package diagnosis

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"

	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/present/document"
)

// doNow is the first action in full; nil if no command is known to help.
func (d *diagnosed) doNow() *document.Section {
	if len(d.Actions) == 0 {
		return nil
	}

	title := "Do now"
	if len(d.Incidents) > 1 {
		title += " about incident " + strconv.Itoa(d.Incident)
	}

	parts := []document.Part{{Tasks: []document.Task{action(&d.Actions[0], 1)}}}
	// Only names here: two fixes applied together cannot be judged separately.
	if rest := d.Actions[1:]; len(rest) > 0 {
		var names []string
		for i := range rest {
			names = append(names, document.LowerFirst(rest[i].Title))
		}
		parts = append(parts, document.Part{Text: "If that is not enough: " + strings.Join(names, "; ") +
			". Try one at a time and check its effect before the next; the commands are below."})
	}

	return &document.Section{ID: "do", Title: title, Parts: parts}
}

// then lists the other actions.
func (d *diagnosed) then() document.Section {
	if len(d.Actions) < 2 {
		return document.Section{}
	}
	var all []document.Task
	for i := range d.Actions[1:] {
		all = append(all, action(&d.Actions[i+1], i+2))
	}
	return document.Section{ID: "then", Title: "If that is not enough",
		Aside: "one at a time; check the effect of each before the next", Parts: []document.Part{{Tasks: all}}}
}

// places names the kinds of deployment.
var places = map[string]string{
	"host": "on the host", "docker": "with Docker", "kubernetes": "with Kubernetes", "rds": "on Amazon RDS",
	"aurora": "on Amazon Aurora", "azure": "on Azure Database", "cloudsql": "on Cloud SQL",
	"managed": "at its provider",
}

func action(step *diagnose.Action, n int) document.Task {
	out := document.Task{ID: "do" + strconv.Itoa(n), Number: n, Title: step.Title, About: step.Effort(),
		Brief: briefEffort(step)}
	add := func(label string, commands []string, text string) {
		if len(commands) > 0 || text != "" {
			out.Steps = append(out.Steps, document.Step{Label: label, Commands: commands, Text: text})
		}
	}

	// The cost comes before the command, because some readers run each line as they read it.
	if len(step.Do) > 0 {
		add("costs", nil, step.Cost)
		add("look", step.Look, "")
		add("run", step.Do, "")
		add("check", step.Check, "")
		add("undo", step.Undo, step.NoUndo)
	} else {
		// The action only reads, so there is nothing to check or undo.
		add("costs", nil, cmp.Or(step.Cost, "nothing: it only reads"))
		add("run", step.Look, "")
		add("undo", nil, "nothing to undo")
	}
	add("expect", nil, step.Expect)
	// Steps from here on are minor: a short text may leave them out.
	minor := len(out.Steps)
	add("keep", step.Keep, step.Kept)
	add("for", nil, step.Rule+" ("+step.Subject+")")
	where := places[step.Place]

	// Commands for the wrong place would fail or do harm, so the assumption is stated.
	if !step.PlaceKnown {
		where = "the sources do not show where the database runs: these commands are for a Linux host"
	} else if step.Host != "" {
		where += " " + step.Host
	}

	add("where", nil, where)
	for i, note := range step.Notes {
		label := ""
		if i == 0 {
			label = "note"
		}
		add(label, nil, note)
	}

	for i := minor; i < len(out.Steps); i++ {
		out.Steps[i].Minor = true
	}

	if len(step.Do) > 0 {
		add("prove", nil, step.Judged())
	}

	add("", step.Prove, "")
	return out
}

// monthly matches a price.
var monthly = regexp.MustCompile(`USD [0-9.,]+ a month`)

// briefEffort is the effort of an action without its details: what restarts, and the price.
func briefEffort(a *diagnose.Action) string {
	restart := "no restart"
	if a.Restart != "" {
		what, _, _ := strings.Cut(a.Restart, ",")
		what, _, _ = strings.Cut(what, ";")
		restart = "restarts " + what
	}

	money := "free"
	if a.Money != "" {
		money = cmp.Or(monthly.FindString(a.Money), "paid")
	}
	return restart + "; " + money
}
