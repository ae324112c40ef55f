package plan

import (
	"errors"
	"testing"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/scenario"
)

// TestPublishedSizing reproduces the table of a published case (MongoDB on Kubernetes, a gp3
// volume): 800 GB and six months' growth of 100, an oplog of 270, a journal of 1, indexes a fifth
// of the data, and a fifth of headroom add up to 2,341 GB, ordered as 2,500. Its addends are
// rounded to whole GB, so ours may differ by one.
func TestPublishedSizing(t *testing.T) {
	g, err := ParseGrowth("data=800GB,growth=100GB/month,months=6,oplog=270GB,journal=1GB,indexes=20%,headroom=20%", every.Engines)
	if err != nil {
		t.Fatal(err)
	}

	sc, err := language.Parse("small.yaml", []byte(small), nil)
	if err != nil {
		t.Fatal(err)
	}

	want := []struct {
		text string
		gb   int64
	}{
		{"data", 800}, {"growth", 600}, {"oplog, or retained log", 270}, {"journal", 1}, {"indexes", 280}, {"together", 1951},
		{"headroom", 390}, {"needed", 2341}, {"rounded", 2500},
	}

	rows := g.rows(&Profile{})
	if len(rows) != len(want) {
		t.Fatalf("%d rows: %+v", len(rows), rows)
	}

	for i, w := range want {
		if r := rows[i]; r.Text != w.text || units.Size(r.Bytes)/units.GB != units.Size(w.gb) {
			t.Errorf("row %d: %s %d, want %s %d GB", i, r.Text, r.Bytes, w.text, w.gb)
		}
	}

	sets, err := g.sets(sc, &Profile{}, false)
	if err != nil || len(sets) != 1 || sets[0].String() != "volumes.data.size=2500GB" {
		t.Errorf("%v, %v", sets, err)
	}
}

// A volume that is large enough stays the same.
func TestSizeNeverShrinks(t *testing.T) {
	sc, err := language.Parse("small.yaml", []byte(small), nil)
	if err != nil {
		t.Fatal(err)
	}
	g, err := ParseGrowth("data=10GB,oplog=0B", every.Engines)
	if err != nil {
		t.Fatal(err)
	}
	if sets, err := g.sets(sc, &Profile{}, false); len(sets) != 0 || err != nil {
		t.Errorf("%v, %v", sets, err)
	}
}

func TestRoundStep(t *testing.T) {
	for _, c := range []struct{ size, step units.Size }{
		{2 * units.GB, units.GB}, {24 * units.GB, 2500 * units.MB}, {241 * units.GB, 25 * units.GB}, {2341 * units.GB, 250 * units.GB},
	} {
		if got := roundStep(c.size); got != c.step {
			t.Errorf("%v is rounded to multiples of %v, want %v", c.size, got, c.step)
		}
	}
}

// Any text is parsed or refused with a message, and the rows of a parsed growth add up.
func FuzzParseGrowth(f *testing.F) {
	for _, s := range []string{"data=800GB,growth=100GB/month,months=6,indexes=20%", "data=", "months=-1,data=1GB", "data=1GB,data=2GB", "=,", "data=36028797018963968B,months=120,growth=30PB"} {
		f.Add(s)
	}

	sc, err := language.Parse("small.yaml", []byte(small), nil)
	if err != nil {
		f.Fatal(err)
	}

	e := every.profileOf(sc)
	f.Fuzz(func(t *testing.T, text string) {
		g, err := ParseGrowth(text, every.Engines)
		var input *InputError
		if err != nil {
			if !errors.As(err, &input) || input.Text == "" {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}

		for _, r := range g.rows(&e) {
			if r.Bytes < 0 {
				t.Fatalf("%q: %+v", text, r)
			}
		}
	})
}

// An objective is parsed, or refused with a message.
func FuzzParseObjective(f *testing.F) {
	for _, s := range []string{"write_p99 < 25ms", "checkpoint<=10s", "write_p9 < 1ms", "<", "write_p99 < -1s", "write_p99 < 9999999h"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		b, err := ParseObjective(text)
		var input *InputError
		switch {
		case err == nil && b.Most <= 0:
			t.Fatalf("%q: %v", text, b)
		case err != nil && !errors.As(err, &input):
			t.Fatalf("%q: %v", text, err)
		}
	})
}

func TestObjectives(t *testing.T) {
	sc, err := language.Parse("small.yaml", []byte(small), nil)
	if err != nil {
		t.Fatal(err)
	}

	parse := func(texts ...string) []scenario.Bound {
		var out []scenario.Bound
		for _, text := range texts {
			b, err := ParseObjective(text)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, b)
		}
		return out
	}

	if got, err := objectives(sc, &Profile{}, parse("write_p99 < 25ms", "checkpoint<10s")); err != nil || len(got) != 2 || got[1].Most != units.Duration(10e9) {
		t.Errorf("%v, %v", got, err)
	}

	for want, bad := range map[string][]scenario.Bound{
		"contradictory objectives: write_p99 must be under 25.0 ms and under 5.00 ms": parse("write_p99 < 25ms", "write_p99 < 5ms"),
		"objective read_p99: the workload does not read":                              parse("read_p99 < 1ms"),
		"no objective: the scenario has none, and none is given":                      nil,
	} {
		if _, err := objectives(sc, &Profile{}, bad); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
