package diagnosis

import (
	"fmt"
	"slices"

	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/present/document"
)

// othersTold is how many of the other servers the lines below the verdict name.
const othersTold = 3

// nameServer says which server the verdict is of, and what the others are, if there are several.
func (d *diagnosed) nameServer(p *document.Document) {
	if d.Server == nil || len(d.Others) == 0 {
		return
	}

	p.Title = d.Server.Name + ": " + p.Title
	p.Verdict = d.Server.Name + ": " + p.Verdict

	told := 0
	for _, o := range d.Others {
		if o.StalledS() > 0 && told < othersTold {
			p.Lead = append(p.Lead, o.Server.Name+": "+o.Verdict)
			told++
		}
	}

	what := "1 other is"
	if n := len(d.Others); n > 1 {
		what = fmt.Sprintf("%d others are", n)
	}

	p.Lead = append(p.Lead,
		fmt.Sprintf("Each server was judged on its own. This is the most harmful one; %s under OTHER SERVERS.",
			what))
}

// others are the verdicts on the other servers.
func (d *diagnosed) others() []document.Section {
	if len(d.Others) == 0 {
		return nil
	}

	t := &document.Table{Caption: "Other servers, the most harmful first",
		Columns: []document.Column{{Text: "server"}, {Text: "what it is", Drop: 1}, {Text: "verdict"}}}
	for _, o := range d.Others {
		what := o.Server.Engine
		if what == "" {
			what = "host"
		}
		t.Rows = append(t.Rows, []document.Cell{{Text: o.Server.Name}, {Text: what}, {Text: o.Verdict}})
		for _, n := range o.Notes {
			t.Notes = append(t.Notes, o.Server.Name+": "+n)
		}
	}

	t.Notes = append(t.Notes, "Give the sources of one server, or --selector, to see it in full.")
	return []document.Section{{ID: "servers", Title: "Other servers", Parts: []document.Part{{Table: t}}}}
}

// allSources are the sources of every server, each once.
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
