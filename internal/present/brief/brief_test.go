package brief_test

import (
	"context"
	"math"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"plimsoll/internal/engine"
	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/judge/ruletest"
	"plimsoll/internal/present/brief"
	"plimsoll/internal/present/diagnosis"
	"plimsoll/internal/present/document"
	"plimsoll/internal/present/text"
	"plimsoll/internal/record/recognise"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
	"plimsoll/internal/testkit"
)

// screen returns the first screen of a document, and its text.
func screen(d *document.Document) (*document.Document, string) {
	opt := text.Options{Width: brief.Columns}
	short := brief.Of(d, brief.Options{Rest: "--full shows everything", Again: "plimsoll diagnose last --full",
		Fits: func(d *document.Document) bool { return text.Lines(d, opt) <= brief.Lines }})
	var b strings.Builder
	if err := text.Write(&b, short, opt); err != nil {
		panic(err) // a builder's writes never fail
	}
	return short, b.String()
}

// packed strips a text of white space and line continuations, which depend on the width.
func packed(s string) string {
	return strings.Map(func(r rune) rune {
		if r == ' ' || r == '\n' || r == '\\' {
			return -1
		}
		return r
	}, s)
}

// checkScreen checks what is true of the first screen of any diagnosis, and reports whether it has the
// commands of the first fix.
func checkScreen(t *testing.T, name string, r *diagnose.Report) (commands bool) {
	t.Helper()
	d := diagnosis.Document(r, diagnosis.Options{Pack: testkit.Pack()})
	_, out := screen(d)
	// A terminal wraps long lines.
	rows := 0
	for line := range strings.Lines(out) {
		rows += max(1, (utf8.RuneCountInString(strings.TrimSuffix(line, "\n"))+brief.Columns-1)/brief.Columns)
	}
	if rows > brief.Lines {
		t.Errorf("%s: %d rows, want at most %d:\n%s", name, rows, brief.Lines, out)
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

	// The latency below the verdict is that of the operations that the verdict is about.
	latency := func(f diagnose.Finding) string {
		_, text, _ := strings.Cut(f.Summary, "Mean latency")
		return packed(document.FirstSentence(text))
	}
	judged := map[string]bool{"": true}
	for _, f := range r.Findings {
		if f.Judged {
			judged[latency(f)] = true
		}
	}
	for _, f := range r.Findings {
		if !judged[latency(f)] && r.Stalls.Seconds > 0 && strings.Contains(all, "latencyMeanlatency"+latency(f)) {
			t.Errorf("%s: %s stalled, and the latency shown is of %s", name, r.Stalls.Signal, f.Subject)
		}
	}

	// A screen that omits a rule that could not be judged says so.
	if len(r.Missing) > 0 && !strings.Contains(out, "not measurable here") && !strings.Contains(all, "notmeasurablehere") {
		t.Errorf("%s: %d rules were not judged, and the first screen does not say it:\n%s", name, len(r.Missing), out)
	}

	// Without a fix, the next step is a command, and it is complete.
	if d.Now == nil {
		next := d.Onward.Parts[0].Tasks[0]
		if !strings.Contains(out, "Do next") || len(r.Actions) > 0 || !checkFix(t, name, next, out) {
			t.Errorf("%s: the next step is missing:\n%s", name, out)
		}
		return false
	}
	return checkFix(t, name, d.Now.Parts[0].Tasks[0], out)
}

// withoutHints removes the hints of variables, which appear only at first mention.
func withoutHints(s string) string { return hint.ReplaceAllString(s, "$1}") }

var hint = regexp.MustCompile(`(\$\{[A-Za-z_]+:\?)[^}]*\}`)

// checkFix checks that a fix has either all of its commands or none, and reports which.
func checkFix(t *testing.T, name string, fix document.Task, out string) bool {
	t.Helper()
	all := withoutHints(packed(out))
	shown, missing := 0, []string{}
	for _, s := range fix.Steps {
		if s.Minor || s.Label == "" || s.Label == "prove" {
			continue
		}
		for _, c := range s.Commands {
			reads := (s.Label == "look" || s.Label == "check") && !strings.Contains(c, ".before") && !strings.Contains(c, " --out ")
			if strings.Contains(all, withoutHints(packed(c))) {
				shown++
			} else if reads && strings.Contains(all, "ofthefirstfixthatonlyread") {
				continue
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
	if len(missing) > 0 && !strings.Contains(out, "see    plimsoll diagnose last --full") {
		t.Errorf("%s: the command that shows them is missing:\n%s", name, out)
	}
	return shown > 0
}

// The first screen of every case of every rule fits, and keeps what a reader must not miss.
func TestScreenOfEveryRule(t *testing.T) {
	scripts, err := ruletest.Scripts(testkit.Pack())
	if err != nil {
		t.Fatal(err)
	}

	fixes, complete := 0, 0
	for _, s := range scripts {
		for i := range s.Cases {
			c := &s.Cases[i]
			mem := recording.NewMemory(recording.MemoryOptions{})
			load(t, mem, c)
			r, err := diagnose.Run(t.Context(), []recording.Reader{mem}, diagnose.Options{Pack: testkit.Pack()})
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
	if complete < fixes {
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

// The first screens of the examples have the commands of their fix, and the clients' latency with the
// cause below it.
func TestScreenOfExamples(t *testing.T) {
	for _, name := range []string{"postgres-checkpoint", "mongodb-checkpoint", "etcd-latency-bound", "etcd-traced", "wiredtiger-journal"} {
		t.Run(name, func(t *testing.T) {
			r := example(t, filepath.Join("../../../examples", name))
			if whole := checkScreen(t, name, r); !whole {
				t.Error("the commands of the first fix are missing")
			}
			short, _ := screen(diagnosis.Document(r, diagnosis.Options{Pack: testkit.Pack()}))
			charts := 0
			for _, s := range short.Sections {
				if t := s.Parts[0].Timeline; t != nil {
					charts = len(t.Charts)
				}
			}
			if charts != 2 {
				t.Errorf("%d sparklines, want those of the latency and of the cause", charts)
			}
		})
	}
}

func example(t *testing.T, folder string) *diagnose.Report {
	t.Helper()
	ctx := context.Background()
	all := recognise.For(engine.All().Sources())
	files, err := all.Expand(folder)
	if err != nil {
		t.Fatal(err)
	}

	var in []recording.Reader
	for _, file := range files {
		opened, err := all.Open(ctx, file, recognise.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if opened.Reader != nil {
			t.Cleanup(func() { _ = opened.Reader.Close() })
			in = append(in, opened.Reader)
			continue
		}
		m := recording.NewMemory(recording.MemoryOptions{})
		if err := opened.Source.Read(ctx, m, source.Options{Want: diagnose.Wants(testkit.Pack())}); err != nil {
			t.Fatal(err)
		}
		in = append(in, m)
	}

	r, err := diagnose.Each(ctx, in, diagnose.Options{Pack: testkit.Pack()})
	if err != nil {
		t.Fatal(err)
	}
	return r
}
