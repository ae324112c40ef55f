package scenario_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"plimsoll/internal/base/units"
	wiredtiger "plimsoll/internal/engine/mongodb/model"
	"plimsoll/internal/model/scenario"
)

// right is a valid scenario to assign to.
const right = `plimsoll: 1
volumes:
  data: {type: gp3, size: 100GiB}
engine:
  mongodb: {cache: 2GB}
workload: {preset: telemetry}
`

// TestProblems shows the errors that a user sees: parse reads a scenario, set assigns to a valid
// one.
func TestProblems(t *testing.T) {
	datadriven.Walk(t, "testdata/problems", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "parse":
				s, err := language.Parse("f.yaml", []byte(d.Input), nil)
				return textOf(t, s, err)
			case "set":
				s, err := language.Parse("f.yaml", []byte(right), strings.Split(d.Input, "\n"))
				return textOf(t, s, err)
			}
			d.Fatalf(t, "no command %s", d.Cmd)
			return ""
		})
	})
}

func textOf(t *testing.T, s *scenario.Scenario, err error) string {
	t.Helper()
	if err != nil {
		var p scenario.Problems
		if !errors.As(err, &p) || len(p) == 0 || p.Hint() == "" {
			t.Errorf("%T is not a scenario.Problems", err)
		}
		return err.Error() + "\n"
	}

	var b strings.Builder
	for _, v := range s.Volumes {
		fmt.Fprintf(&b, "%s: %s, %s, %v IOPS, %v\n", v.Name, v.Value.Type, v.Value.Size.Exact(), v.Value.IOPS, v.Value.Throughput)
	}

	fmt.Fprintf(&b, "%s, %v/s, %v of memory\n", s.Engine.Name(), float64(s.Workloads().Rate()), s.Host.Memory.Exact())
	for _, w := range s.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", w)
	}

	return b.String()
}

// TestFilledIn: values that one part takes from another.
func TestFilledIn(t *testing.T) {
	s, err := language.Parse("f.yaml", []byte(right), []string{"host.instance=m6i.xlarge", "engine.mongodb.cache="})
	if err != nil {
		t.Fatal(err)
	}

	w := scenario.ConfigOf[*wiredtiger.Config](s)
	if s.Host.Cores != 4 || s.Host.Memory != 16<<30 || w.Cache != 15<<30/2 || w.Documents != 6_000_000 || w.DocumentSize != 3000 {
		t.Errorf("%+v, %+v", s.Host, w)
	}

	if s.Seed != 1 || s.Run.Duration != 10*units.Duration(time.Minute) || s.Run.Warmup != 2*units.Duration(time.Minute) || s.MemberCount() != 1 {
		t.Errorf("%+v", s)
	}

	volumes, instances, known := s.Monthly()
	if !known.Volumes || !known.Instances || volumes != 8 || instances < 100 {
		t.Errorf("%v and %v a month, %+v", volumes, instances, known)
	}

	// An explicit value is kept.
	s, err = language.Parse("f.yaml", []byte(right), []string{"host.instance=m6i.xlarge", "host.cores=2", "engine.mongodb.documents=5"})
	if err != nil || s.Host.Cores != 2 || scenario.ConfigOf[*wiredtiger.Config](s).Documents != 5 || scenario.ConfigOf[*wiredtiger.Config](s).Cache != 2e9 {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestMembers(t *testing.T) {
	s, err := language.Parse("f.yaml", []byte(`plimsoll: 1
volumes: {wal: {type: gp3, size: 10GiB}, data: {type: gp3, size: 20GiB}}
engine: {etcd: {members: 3}}
members: {2: {volumes: {wal: {type: io2, size: 4GiB, iops: 500}}}}
workload: {arrivals: {poisson: 100/s}, mix: {insert: 100%}, document: {size: 1kB}}
`), nil)
	if err != nil {
		t.Fatal(err)
	}

	var types []string
	for k := 1; k <= s.MemberCount(); k++ {
		for _, v := range s.VolumesOf(k) {
			types = append(types, v.Name+" "+v.Value.Type)
		}
	}

	want := []string{"wal gp3", "data gp3", "wal io2", "data gp3", "wal gp3", "data gp3"}
	if !slices.Equal(types, want) {
		t.Errorf("%q", types)
	}

	if volumes, _, _ := s.Monthly(); volumes < 2*0.8+3*1.6+4*0.125+500*0.065-0.01 {
		t.Errorf("%v a month", volumes)
	}
}

// FuzzParse: no text crashes the program, and every error has a position.
func FuzzParse(f *testing.F) {
	for _, text := range []string{right, "", "a: [", "{", "x: &a [*a]", "- - - a", "? a\n: b", "a: |\n b\n", "\xff", strings.Repeat("[", 100), "volumes: {data: {type: gp3, size: 1GiB, episodes: {}}}", "\"a\": 'b'\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := language.Parse("f.yaml", []byte(text), nil)
		holds(t, s, err)
	})
}

// FuzzSet: the same for assignments.
func FuzzSet(f *testing.F) {
	for _, set := range []string{"volumes.data.iops=16000", "a", "=", "a.b[0]=1", "volumes={}", "engine.mongodb=", "workload={", "plimsoll[0]=1", "seed=18446744073709551615", "run.duration=1e300s", "volumes.data.stripe=-1"} {
		f.Add(set)
	}
	f.Fuzz(func(t *testing.T, set string) {
		s, err := language.Parse("f.yaml", []byte(right), []string{set})
		holds(t, s, err)
	})
}

func holds(t *testing.T, s *scenario.Scenario, err error) {
	t.Helper()
	var p scenario.Problems
	switch {
	case err == nil:
		if s.Workloads() == nil {
			t.Error("a scenario without a workload is taken")
		}
		for k := 1; k <= s.MemberCount(); k++ {
			if _, err := s.Build(k, func(name string) string { return name }); err != nil {
				t.Errorf("a scenario that is right cannot be built: %v", err)
			}
		}
	case !errors.As(err, &p) || len(p) == 0:
		t.Errorf("%T: %v", err, err)
	}

	for _, x := range p {
		if x.Problem.Text == "" || x.Line < 0 || x.Column < 0 || len(x.String()) == 0 {
			t.Errorf("%+v", x)
		}
	}
}

// TestEncodings: a byte order mark is not part of the first key, and content that is not text is
// refused with its position.
func TestEncodings(t *testing.T) {
	if _, err := language.Parse("f.yaml", []byte("\ufeff"+strings.ReplaceAll(right, "\n", "\r\n")), nil); err != nil {
		t.Error(err)
	}
	for text, place := range map[string]string{"\xff\xfea\x00": "f.yaml:1:1: ", "name: ü\nseed: 1\xfc": "f.yaml:2:8: ", "a: \x00": "f.yaml:1:4: "} {
		_, err := language.Parse("f.yaml", []byte(text), nil)
		if err == nil || !strings.HasPrefix(err.Error(), place+"not UTF-8 text") {
			t.Errorf("%q: %v", text, err)
		}
	}
	_, err := language.Parse("f.yaml", []byte(right), []string{"name=\xff"})
	if err == nil || !strings.Contains(err.Error(), "--set: not UTF-8 text") {
		t.Error(err)
	}
}

// TestNoText: a file that is not text is reported without a line and without a mark.
func TestNoText(t *testing.T) {
	for name, text := range map[string]string{
		"binary":   "\x7fELF\x02\x01\x00\x00\xff\xfe",
		"UTF-16":   "\xff\xfep\x00l\x00",
		"too long": "a: \x00" + strings.Repeat("\x00", scenario.FileBytesMax),
	} {
		_, err := language.Parse("f.yaml", []byte(text), nil)
		if err == nil || strings.ContainsAny(err.Error(), "\n\x00^") || !strings.HasPrefix(err.Error(), "f.yaml:1:") {
			t.Errorf("%s: %q", name, err)
		}
	}
}

// TestNoAssignment: an empty assignment is reported as such, not as a mistake in the file.
func TestNoAssignment(t *testing.T) {
	_, err := language.Parse("f.yaml", []byte(right), []string{""})
	if err == nil || !strings.HasPrefix(err.Error(), "--set: is not an assignment") {
		t.Errorf("%v", err)
	}
}

// TestOpenOnce: variants are made from the text that was read when the file was opened, even if the
// file changes.
func TestOpenOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.yaml")
	if err := os.WriteFile(path, []byte(right), 0o600); err != nil {
		t.Fatal(err)
	}

	f, err := language.Open(path)
	if err != nil {
		t.Fatal(err)
	}

	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}

	for _, sets := range [][]string{nil, {"volumes.data.iops=4000"}} {
		if _, err := f.Parse(sets); err != nil {
			t.Errorf("%v: %v", sets, err)
		}
	}
}
