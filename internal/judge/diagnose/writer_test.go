package diagnose_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/record/recording"
)

// With host metrics alone, no purchase is recommended before the program that writes has been examined.
// The report names it, with the command that diagnoses it. A program that writes to another device is
// not named.
func TestFreeBeforePaidOnAHostAlone(t *testing.T) {
	for _, x := range []struct{ name, fact, title, look string }{
		{"a database", "postgres pid=1234 share=0.97 device=nvme1n1 port=5599", "Diagnose PostgreSQL", "plimsoll diagnose host postgres://localhost:5599"},
		{"another program", "rsync pid=99 share=0.80 device=nvme1n1", "Find out what writes", ""},
		{"of another device", "postgres pid=1234 share=0.97 device=sda port=5599", "Find out what writes", "sudo pidstat -d 1 10"},
		{"not known", "", "Find out what writes", "sudo pidstat -d 1 10"},
	} {
		t.Run(x.name, func(t *testing.T) {
			w := forms(t, time.Second, 10*time.Minute).node("nvme1n1", capped(4500, 3000, 500, 16, 0))
			facts := map[string]string{}
			if x.fact != "" {
				facts["writer.1"] = x.fact
			}

			w.mem.Source(recording.Source{Kind: "host", Name: "host", Host: "db-1", Facts: facts, Period: time.Second})
			r := w.diagnose(diagnose.Options{})
			if len(r.Actions) < 2 {
				t.Fatalf("%s: %d actions", r.Verdict, len(r.Actions))
			}

			first := r.Actions[0]
			if first.Money != "" || !strings.HasPrefix(first.Title, x.title) || x.look != "" && !slices.Contains(first.Look, x.look) {
				t.Errorf("first is %q: %q", first.Title, first.Look)
			}

			if says := strings.Contains(strings.Join(first.Notes, " "), "wrote"); says != strings.Contains(x.fact, "nvme1n1") {
				t.Errorf("notes %q", first.Notes)
			}

			if r.Actions[1].Money == "" || !r.Actions[1].PlaceKnown || r.Actions[1].Host != "db-1" {
				t.Errorf("second is %+v", r.Actions[1])
			}
		})
	}
}
