package perftext

import (
	"os"
	"path/filepath"
	"testing"

	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

const good = "FAIL: too many errors\nFAIL: ERROR(etcdserver: request timed out) -> 1000\nFAIL: Throughput too low: 4790 writes/s\nSlowest request took too long: 1.095562s\nPASS: Stddev is 0.064833s\nFAIL\n"

// bad are other texts: a report of another benchmark, and formats of this program.
var bad = []string{"fdatasync   608.573 ops/sec    1643 usecs/op\n", "wal: (groupid=0, jobs=1): err= 0: pid=1: Tue Jun 11 16:44:54 2019\n", "Linux 5.10 (h)\n", "# TYPE a counter\na 1\n", "{}", ""}

func TestParse(t *testing.T) {
	got, err := parse("$ pasted\n" + good)
	if err != nil {
		t.Fatal(err)
	}

	have := map[string]float64{}
	for _, x := range got {
		name := x.Name
		for i := 0; i+1 < len(x.Labels); i += 2 {
			if x.Labels[i] == "method" {
				name += " " + x.Labels[i+1]
			}
		}
		if _, twice := have[name]; twice {
			t.Errorf("%s twice", name)
		}
		have[name] = x.Value
	}

	for _, want := range []struct {
		name  string
		value float64
	}{{"bench_writes_per_second", 4790}, {"bench_writes_asked_per_second", 8000}, {"bench_clients", 500}, {"bench_write_slowest_seconds", 1.095562}, {"bench_passed", 0}, {"bench_errors", 1000}} {
		if have[want.name] != want.value {
			t.Errorf("%s is %g, want %g", want.name, have[want.name], want.value)
		}
	}
}

func TestSniff(t *testing.T) {
	if !Sniff("x", []byte("$ pasted\n"+good)) {
		t.Error("not recognised")
	}
	for _, x := range bad {
		if Sniff("x", []byte(x)) {
			t.Errorf("recognised: %q", x)
		}
	}
}

func TestRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "report.txt")
	if err := os.WriteFile(path, []byte(good), 0o600); err != nil {
		t.Fatal(err)
	}

	s, err := Format.Open(path)
	if err != nil {
		t.Fatal(err)
	}

	m := recording.NewMemory(recording.MemoryOptions{})
	if err := s.Read(t.Context(), m, source.Options{}); err != nil {
		t.Fatal(err)
	}

	if d := s.Describe(); d.Samples != 2 || !d.From.Before(d.To) {
		t.Errorf("%+v", d)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(good)
	f.Add(good[:len(good)/2])
	f.Fuzz(func(_ *testing.T, text string) { _, _ = parse(text) })
}
