package diagnosis

import (
	"slices"
	"strings"

	"plimsoll/internal/base/shellword"
	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/present/document"
)

// onward is the next step if no command is known to help: the command that gets the missing evidence, shows
// what to do about a finding, or catches the next stall. None of them changes anything.
func (d *diagnosed) onward() *document.Section {
	if len(d.Actions) > 0 {
		return nil
	}

	title, command, expect := d.nextCommand()
	return &document.Section{ID: "next", Title: "Do next", Parts: []document.Part{{Tasks: []document.Task{{
		ID: "next1", Number: 1, Title: title, About: "no restart; free", Steps: []document.Step{
			{Label: "costs", Text: "nothing: it only reads"},
			{Label: "run", Commands: []string{command}},
			{Label: "undo", Text: "nothing to undo"},
			{Label: "expect", Text: expect},
		}}}}}}
}

// nextCommand is what to do next, its command, and what that shows.
func (d *diagnosed) nextCommand() (title, command, expect string) {
	engine, address := d.engineAddress()
	worst := d.worst()

	switch {
	case d.only("fio", "benchmark") && d.Stalls.Of <= 0:
		return "measure a volume with the database's own pattern of I/O",
			`plimsoll probe --show --profile "${PROFILE:?one that plimsoll probe -h lists}"`,
			"what it would write and sync; without --show and with a folder it measures that folder's volume"

	case worst == nil && d.Stalls.Of > 0 && d.Watching != nil:
		return d.Watching.Next()

	// Devices alone do not show how long clients wait, but the database is right here.
	case engine == "" && d.only("host") && len(d.Servers) > 0:
		words := make([]string, len(d.Servers))
		for i, s := range d.Servers {
			words[i] = shellword.Quote(s)
		}
		return "diagnose the database on this host together with its devices",
			"plimsoll diagnose host " + strings.Join(words, " "),
			"how long its clients wait, and whether its writes, the volume or another program is the cause"

	case worst == nil && d.Stalls.Of > 0:
		return "catch the next stall, if clients still see stalls", join("plimsoll watch host", address, "--out ring"),
			"it reports a stall within seconds, and the ring keeps what came before it"

	// A cloud's or a server's own metrics do not cover a host's devices, so there is nothing to look
	// at.
	case worst != nil && (d.only("cloudwatch") || engine != "" && !d.lacks("disk/slow-writes")):
		return "read what " + worst.Rule + " means here, and the commands of its fixes",
			"plimsoll rules show -v " + worst.Rule, firstFix(worst)

	case engine != "":
		return "look at " + engine + " and the device under it while it is slow",
			join("plimsoll diagnose host", address, "--for 5m"),
			"how long its clients wait, and whether the volume, a limit or another program is the cause"

	case worst == nil:
		return "watch the database and its host while it is slow",
			"plimsoll diagnose host " + `"${ADDRESS:?the database's address}"` + " --for 5m",
			"how long its clients wait, and whether the volume, a limit or another program is the cause"
	}

	return "find out what writes and waits there, on that host, while it is slow", "plimsoll diagnose host --for 5m",
		"the programs that use its devices, and for a database the command that diagnoses it"
}

func join(words ...string) string {
	return strings.Join(slices.DeleteFunc(words, func(s string) bool { return s == "" }), " ")
}

// engineAddress returns the product that the report is about, and its address: the one that was used,
// or a variable to fill in. Both are "" for a host; the address is "" for an engine without a live
// source.
func (d *diagnosed) engineAddress() (product, address string) {
	i := slices.IndexFunc(d.Sources, func(s diagnose.Source) bool { return s.Engine != "" })
	if i < 0 {
		return "", ""
	}

	for _, e := range d.Pack.Engines() {
		if e.Database != d.Sources[i].Engine {
			continue
		}
		for i := range d.Sources {
			if s := &d.Sources[i]; e.Scheme != "" && strings.HasPrefix(s.Name, e.Scheme+"://") {
				return e.Product, shellword.Quote(s.Argument())
			}
		}
		if e.Scheme != "" {
			return e.Product, `"${ADDRESS:?its address, as in ` + e.Scheme + `://HOST}"`
		}
		return e.Product, ""
	}
	return d.Sources[i].Engine, ""
}

// worst is the cause, or otherwise the symptom, that the verdict is about; nil if there is none.
func (d *diagnosed) worst() *diagnose.Finding {
	for _, kind := range []diagnose.Kind{diagnose.Cause, diagnose.Symptom} {
		for i, f := range d.Findings {
			// Missing evidence is not a problem of the database.
			if f.Kind == kind && f.Severity != diagnose.Info && !strings.HasPrefix(f.Rule, "evidence/") {
				return &d.Findings[i]
			}
		}
	}
	return nil
}

// firstFix is the first advice of a finding.
func firstFix(f *rules.Finding) string {
	if len(f.Fixes) == 0 {
		return "what it means, how to check it, and when the rule is wrong"
	}
	return "first of all: " + document.LowerFirst(f.Fixes[0].Summary)
}

// lacks reports whether a rule could not be judged.
func (d *diagnosed) lacks(rule string) bool {
	return slices.ContainsFunc(d.Missing, func(m diagnose.NotMeasured) bool { return m.Rule == rule })
}

// only reports whether all sources are of these kinds.
func (d *diagnosed) only(kinds ...string) bool {
	return len(d.Sources) > 0 && !slices.ContainsFunc(d.Sources,
		func(s diagnose.Source) bool { return !slices.Contains(kinds, s.Kind) })
}
