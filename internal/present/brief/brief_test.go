package brief_test

import (
	"context"
	"math"
	"path/filepath"
	"strings"
	"testing"

	engines "plimsoll/internal/engine"
	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/judge/ruletest"
	"plimsoll/internal/present/brief"
	"plimsoll/internal/present/diagnosis"
	"plimsoll/internal/present/document"
	"plimsoll/internal/present/text"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
	"plimsoll/internal/record/sources"
)

var pack = rules.NewPack(engines.All().Rules())

// screen returns the first screen of a document, and its text.
func screen(d *document.Document) (*document.Document, string) {
	opt := text.Options{Width: brief.Columns}
	short := brief.Of(d, brief.Options{Rest: "--full shows everything",
		Fits: func(d *document.Document) bool { return text.Lines(d, opt) <= brief.Lines }})
	var b strings.Builder
	if err := text.Write(&b, short, opt); err != nil {
		panic(err) // a builder does not fail
	}
	return short, b.String()
}

// packed is a text without white space and line continuations, which depend on the width.
func packed(s string) string {
	return strings.Map(func(r rune) rune {
		if r == ' ' || r == '\n' || r == '\\' {
			return -1
		}
		return r
	}, s)
}

// checkScreen checks what holds for the first screen of any diagnosis, and returns whether it has the
// commands of the first fix.
func checkScreen(t *testing.T, name string, r *diagnose.Report) (commands bool) {
	t.Helper()
	d := diagnosis.Document(r, diagnosis.Options{Pack: pack})
	_, out := screen(d)
	if n := strings.Count(out, "\n"); n > brief.Lines {
		t.Errorf("%s: %d lines, want at most %d:\n%s", name, n, brief.Lines, out)
	}

	all := packed(out)
	must := append([]string{d.Verdict}, d.Lead...)
	for _, l := range r.Lost {
		must = append(must, l.Text)
	}
	for _, f := range r.Findings {
		if f.Rule == "evidence/gap" {
			must = append(must, f.Summary)
		}
	}
	if len(r.Notes) == 1 {
		must = append(must, r.Notes[0])
	}
	for _, s := range must {
		if !strings.Contains(all, packed(s)) {
			t.Errorf("%s: the first screen lacks %q:\n%s", name, s, out)
		}
	}

	// A screen that omits a rule that could not be judged says so.
	if len(r.Missing) > 0 && !strings.Contains(out, "not measurable here") && !strings.Contains(all, "notmeasurablehere") {
		t.Errorf("%s: %d rules were not judged, and the first screen does not say it:\n%s", name, len(r.Missing), out)
	}

	return d.Now != nil && checkFix(t, name, d.Now.Parts[0].Tasks[0], out)
}

// checkFix checks that a fix has all of its commands or none, and returns which.
func checkFix(t *testing.T, name string, fix document.Task, out string) bool {
	t.Helper()
	all := packed(out)
	shown, missing := 0, []string{}
	for _, s := range fix.Steps {
		if s.Minor || s.Label == "" || s.Label == "prove" {
			continue
		}
		for _, c := range s.Commands {
			if strings.Contains(all, packed(c)) {
				shown++
			} else {
				missing = append(missing, c)
			}
		}
	}

	if shown > 0 && len(missing) > 0 {
		t.Errorf("%s: %d commands of a fix are shown without %q:\n%s", name, shown, missing, out)
	}
	if len(missing) > 0 && !strings.Contains(all, "thecommandsofthefirstfix") {
		t.Errorf("%s: that the commands are left out is not said:\n%s", name, out)
	}
	return shown > 0
}

// The first screen of every case of every rule fits, and keeps what a reader must not miss.
func TestScreenOfEveryRule(t *testing.T) {
	scripts, err := ruletest.Scripts(pack)
	if err != nil {
		t.Fatal(err)
	}

	fixes, complete := 0, 0
	for _, s := range scripts {
		for i := range s.Cases {
			c := &s.Cases[i]
			mem := recording.NewMemory(recording.MemoryOptions{})
			load(t, mem, c)
			r, err := diagnose.Run(t.Context(), []recording.Reader{mem}, diagnose.Options{Pack: pack})
			if err != nil {
				continue // some cases have nothing to judge
			}
			whole := checkScreen(t, s.Rule.ID+": "+c.Title, r)
			if len(r.Actions) > 0 {
				fixes++
			}
			if whole {
				complete++
			}
		}
	}

	t.Logf("%d diagnoses have a fix, and %d first screens have its commands", fixes, complete)
	if complete < fixes*8/10 {
		t.Errorf("only %d of %d first screens have the commands of the fix", complete, fixes)
	}
}

// load writes the series of a case to a recording.
func load(t *testing.T, mem *recording.Memory, c *ruletest.Case) {
	t.Helper()
	for _, x := range c.Series() {
		b := &recording.Batch{Columns: []recording.Column{{Labels: x.Labels}}}
		for i, v := range x.Values {
			if !math.IsNaN(v) {
				b.TimesMs = append(b.TimesMs, int64(i)*x.Step.Milliseconds())
				b.Columns[0].Values = append(b.Columns[0].Values, v)
			}
		}
		if len(b.TimesMs) == 0 {
			continue
		}
		if err := mem.Append(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
}

// The first screens of the examples have the commands of their fix.
func TestScreenOfExamples(t *testing.T) {
	for _, name := range []string{"postgres-checkpoint", "mongodb-checkpoint", "etcd-latency-bound", "wiredtiger-journal"} {
		t.Run(name, func(t *testing.T) {
			r := example(t, filepath.Join("../../../examples", name))
			// etcd's fix moves the WAL, and its script is longer than a screen.
			if whole := checkScreen(t, name, r); len(r.Actions) > 0 && !whole && name != "etcd-latency-bound" {
				t.Error("the commands of the first fix are missing")
			}
		})
	}
}

func example(t *testing.T, folder string) *diagnose.Report {
	t.Helper()
	ctx := context.Background()
	all := sources.For(engines.All().Sources())
	files, err := all.Expand(folder)
	if err != nil {
		t.Fatal(err)
	}

	var in []recording.Reader
	for _, file := range files {
		opened, err := all.Open(ctx, file, sources.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if opened.Reader != nil {
			t.Cleanup(func() { _ = opened.Reader.Close() })
			in = append(in, opened.Reader)
			continue
		}
		m := recording.NewMemory(recording.MemoryOptions{})
		if err := opened.Source.Read(ctx, m, source.Options{Want: diagnose.Wants(pack)}); err != nil {
			t.Fatal(err)
		}
		in = append(in, m)
	}

	r, err := diagnose.Each(ctx, in, diagnose.Options{Pack: pack})
	if err != nil {
		t.Fatal(err)
	}
	return r
}
