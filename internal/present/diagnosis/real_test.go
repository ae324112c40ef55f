package diagnosis

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/engine"
	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/present/text"
	"plimsoll/internal/record/recognise"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
	"plimsoll/internal/testkit"
)

// Diagnoses of real captures conform to the schema and can be printed.
func TestRealDiagnosesConform(t *testing.T) {
	s := readSchema(t)
	for _, file := range []string{
		"../../record/iostat/testdata/xkt_iso.log",
		"../../../../shared/data/ftdc/metrics.visualzhou-example",
		"../../../../shared/data/ftdc/v3.6.3",
		"../../../../shared/data/ftdc/v8.2.1",
	} {
		t.Run(file, func(t *testing.T) {
			if _, err := os.Stat(file); err != nil {
				t.Skip("this capture is not beside the checkout")
			}

			r := diagnoseFile(t, file)
			var doc any
			if err := json.Unmarshal([]byte(renderJSON(t, r)), &doc); err != nil {
				t.Fatal(err)
			}

			for _, problem := range s.check("", s.root, doc) {
				t.Error(problem)
			}

			for _, opt := range []text.Options{{}, {Verbose: true, ASCII: true, Width: 60}} {
				out := render(t, r, opt)
				checkCharacters(t, file, out, opt)
				for line := range strings.Lines(out) {
					if n := columns(strings.TrimSuffix(line, "\n")); n > max(opt.Width, 80) && !oneWord(line) {
						t.Errorf("a line of %d columns: %q", n, line)
					}
				}
			}
		})
	}
}

// oneWord reports whether a line of a command is too long because it is a single shell word, such as
// quoted input for a database's shell.
func oneWord(line string) bool {
	return strings.Contains(line, "db.adminCommand") || strings.Contains(line, `'c = db.serverStatus`) || strings.Contains(line, "SELECT")
}

func diagnoseFile(t *testing.T, file string) *diagnose.Report {
	t.Helper()
	ctx := context.Background()
	in, err := recognise.For(engine.All().Sources()).Open(ctx, file, recognise.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}

	m := recording.NewMemory(recording.MemoryOptions{})
	if err := in.Source.Read(ctx, m, source.Options{Want: diagnose.Wants(testkit.Pack()), Location: time.UTC}); err != nil {
		t.Fatal(err)
	}

	r, err := diagnose.Run(ctx, []recording.Reader{m}, diagnose.Options{Pack: testkit.Pack()})
	if err != nil {
		t.Fatal(err)
	}

	return r
}
