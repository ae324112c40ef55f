package diagnosis

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/present/document"
)

// headlineServers is how many of the other servers the lines below the verdict name.
const headlineServers = 3

// nameServer adds which server the verdict is about, and the verdicts on the others, if there are
// several.
func (d *diagnosed) nameServer(p *document.Document) {
	if d.Server == nil || len(d.Others) == 0 {
		return
	}

	p.Title = d.Server.Name + ": " + p.Title
	p.Verdict = d.Server.Name + ": " + p.Verdict

	named := 0
	for _, o := range d.Others {
		if o.StalledS() > 0 && named < headlineServers {
			p.Lead = append(p.Lead, o.Server.Name+": "+headline(o))
			named++
		}
	}

	what := "1 other is"
	if n := len(d.Others); n > 1 {
		what = fmt.Sprintf("%d others are", n)
	}

	p.Lead = append(p.Lead,
		fmt.Sprintf("Each server was judged separately. This is the most harmful one; %s under OTHER SERVERS.",
			what))
}

// headline is another server's verdict: of several incidents only the most harmful one. The table of the
// other servers has all of them.
func headline(o *diagnose.Report) string {
	if len(o.Incidents) < 2 {
		return o.Verdict
	}
	count := document.FirstSentence(o.Verdict)
	first := document.FirstSentence(strings.TrimPrefix(o.Verdict[len(count):], " "))
	return strings.TrimSpace(count + " " + first)
}

// others lists the verdicts on the other servers.
func (d *diagnosed) others() document.Section {
	if len(d.Others) == 0 {
		return document.Section{}
	}

	t := &document.Table{Caption: "Other servers, most harmful first",
		Columns: []document.Column{{Text: "server"}, {Text: "kind", Drop: 1}, {Text: "verdict"}}}
	for _, o := range d.Others {
		what := o.Server.Engine
		if what == "" {
			what = "host"
		}
		t.Line(o.Server.Name, what, o.Verdict)
		for _, n := range o.Notes {
			t.Notes = append(t.Notes, o.Server.Name+": "+n)
		}
	}

	t.Notes = append(t.Notes, "To see one server in full, give only its sources, or --selector.")
	return document.Section{ID: "servers", Title: "Other servers", Parts: []document.Part{{Table: t}}}
}

// allSources returns the sources of every server, without duplicates.
func (d *diagnosed) allSources() []diagnose.Source {
	var out []diagnose.Source
	for _, r := range d.All() {
		for _, s := range r.Sources {
			if !slices.ContainsFunc(out,
				func(o diagnose.Source) bool { return o.Name == s.Name && o.Kind == s.Kind }) {
				out = append(out, s)
			}
		}
	}
	return out
}
