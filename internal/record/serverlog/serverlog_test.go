package serverlog_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/record/lineprefix"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/serverlog"
	"plimsoll/internal/record/source"
)

// format is a server whose lines are "TIME srv: slow DURATION".
var format = serverlog.Format{
	Kind: "srv-log", Engine: "srv", Product: "srv",
	Series: []serverlog.Series{{Name: "srv_slow", Timed: true, Always: true}, {Name: "srv_event"}},
	Is: func(_, text []byte) bool {
		_, ok := stamp(text)
		return ok || bytes.HasPrefix(text, []byte("srv: "))
	},
	Keep: func(raw []byte) bool {
		return bytes.Contains(raw, []byte("slow")) || bytes.Contains(raw, []byte("event"))
	},
	Stamp: stamp,
	New:   func(e *serverlog.Events) serverlog.Parser { return &parser{e} },
}

func stamp(text []byte) (lineprefix.Time, bool) {
	stamp, _, ok := bytes.Cut(text, []byte(" srv: "))
	if !ok {
		return lineprefix.Time{}, false
	}
	return lineprefix.Line(stamp)
}

type parser struct{ e *serverlog.Events }

func (p *parser) Line(at time.Time, text []byte) {
	if _, rest, ok := bytes.Cut(text, []byte("slow ")); ok {
		first, _, _ := bytes.Cut(rest, []byte(" "))
		if d, err := time.ParseDuration(string(first)); err == nil {
			p.e.Took(0, at, d)
		}
		return
	}
	p.e.Add(1, at, 1)
}

func (p *parser) End(time.Time) {}

func file(name, text string) source.File {
	return source.File{Path: name, Bytes: int64(len(text)), Open: func() (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(text)), nil
	}}
}

// read reads a log and returns the recording.
func read(t testing.TB, opt source.Options, files ...source.File) (*recording.Memory, recording.Source, error) {
	t.Helper()
	if opt.Location == nil {
		opt.Location = time.UTC
	}

	var all []source.Source
	for _, f := range files {
		all = append(all, format.Open(f))
	}
	source.Join(all)

	mem := recording.NewMemory(recording.MemoryOptions{})
	var err error
	var d recording.Source
	for _, s := range all {
		if s != nil {
			err = s.Read(t.Context(), mem, opt)
			d = s.Describe()
		}
	}
	return mem, d, err
}

// last returns the last value of a metric, and the number of its samples.
func last(t testing.TB, mem *recording.Memory, metric string) (value float64, samples int) {
	t.Helper()
	series, err := mem.Samples(t.Context(), recording.MustSelector(metric), time.UnixMilli(0), time.UnixMilli(recording.TimeMaxMs))
	if err != nil {
		t.Fatal(err)
	}
	if len(series) == 0 {
		return -1, 0
	}
	p := series[0].Points
	return p[len(p)-1].F, len(p)
}

const lines = "2026-01-05 10:00:00 srv: start\n2026-01-05 10:00:10 srv: slow 2.5s\nsome trace\n2026-01-05 10:00:20 srv: quick\n"

// A duration is credited when it ends, and spread over the time that it took.
func TestEvents(t *testing.T) {
	mem, d, err := read(t, source.Options{}, file("srv.log", lines))
	if err != nil {
		t.Fatal(err)
	}

	for metric, want := range map[string]float64{"srv_slow_total": 1, "srv_slow_seconds_total": 2.5,
		"srv_slow_running_seconds_total": 2.5, "srv_slow_longest_seconds": 0, "srv_event_total": -1} {
		if got, _ := last(t, mem, metric); got != want {
			t.Errorf("%s is %v, want %v", metric, got, want)
		}
	}

	at := func(metric string, second int) float64 {
		to := time.Date(2026, 1, 5, 10, 0, second, 0, time.UTC)
		series, err := mem.Samples(t.Context(), recording.MustSelector(metric), to, to)
		if err != nil || len(series) != 1 || len(series[0].Points) != 1 {
			t.Fatalf("%s at %d: %v, %v", metric, second, series, err)
		}
		return series[0].Points[0].F
	}

	// It ran from 7.5 s to 10 s, and a sample at 8 s includes the part that ran before.
	for second, want := range map[int]float64{7: 0, 8: 0.5, 9: 1.5, 10: 2.5} {
		if got := at("srv_slow_running_seconds_total", second); got != want {
			t.Errorf("at %d s it had run for %v, want %v", second, got, want)
		}
	}
	if got := at("srv_slow_longest_seconds", 11); got != 2.5 {
		t.Errorf("the longest is %v", got)
	}

	if d.Samples != 22 || d.Kind != "srv-log" || !d.From.Equal(time.Date(2026, 1, 5, 10, 0, 0, 0, time.UTC)) {
		t.Errorf("source: %+v", d)
	}
}

// The same lines, as log pipelines wrap them.
func TestWrappers(t *testing.T) {
	at := func(line string) string { return "2026-01-05T" + line[11:19] }
	for name, wrap := range map[string]func(line string) string{
		"bare":         func(l string) string { return l },
		"kubectl":      func(l string) string { return at(l) + ".000000001Z " + l },
		"kubectl pods": func(l string) string { return "[pod/srv-0/srv] " + at(l) + ".5Z " + l },
		"CRI":          func(l string) string { return at(l) + "Z stderr F " + l },
		"CRI, split":   func(l string) string { return at(l) + "Z stdout P " + l[:30] + "\n" + at(l) + "Z stdout F " + l[30:] },
		"docker":       func(l string) string { return fmt.Sprintf(`{"log":%q,"stream":"stderr","time":"%sZ"}`, l+"\n", at(l)) },
		"docker, split": func(l string) string {
			return fmt.Sprintf(`{"log":%q,"stream":"stderr","time":"%sZ"}`, l[:30], at(l)) + "\n" +
				fmt.Sprintf(`{"log":%q,"stream":"stderr","time":"%sZ"}`, l[30:]+"\n", at(l))
		},
		"journald":      func(l string) string { return "Jan  5 " + l[11:19] + " db srv[1]: " + l },
		"journald, ISO": func(l string) string { return at(l) + "+0000 db srv[1]: " + l },
		"journald, JSON": func(l string) string {
			s, _ := time.Parse(time.DateTime, l[:19])
			return fmt.Sprintf(`{"__REALTIME_TIMESTAMP":"%d","_HOSTNAME":"db","MESSAGE":%q}`, s.UnixMicro(), l)
		},
	} {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			for line := range strings.Lines(lines) {
				if line = strings.TrimSpace(line); strings.Contains(line, "srv") {
					b.WriteString(wrap(line+strings.Repeat(" ", 20)) + "\n")
				}
			}

			mem, _, err := read(t, source.Options{}, file("srv.log", b.String()))
			if err != nil {
				t.Fatal(err)
			}
			if got, n := last(t, mem, "srv_slow_seconds_total"); got != 2.5 || n != 22 {
				t.Errorf("%v s in %d samples, want 2.5 in 22\n%s", got, n, b.String())
			}
		})
	}
}

// If a line has two times, the one with a zone counts: a container's clock is usually in UTC, the
// reader's is not.
func TestZone(t *testing.T) {
	local := time.FixedZone("here", 3600)
	_, d, err := read(t, source.Options{Location: local}, file("srv.log", lines))
	if err != nil || d.From.Hour() != 9 {
		t.Errorf("without a zone: %v, %v", d.From, err)
	}

	var b strings.Builder
	for line := range strings.Lines(lines) {
		b.WriteString("2026-01-05T12:00:00Z " + line)
	}
	mem, d, err := read(t, source.Options{Location: local}, file("srv.log", b.String()))
	if err != nil || d.From.Hour() != 12 {
		t.Errorf("with a zone outside: %v, %v", d.From, err)
	}
	if len(mem.Notes()) != 0 {
		t.Errorf("notes: %v", mem.Notes())
	}
}

// Syslog's times have no year. The year is the last one that does not put the time after the last write
// of the file.
func TestYear(t *testing.T) {
	f := file("srv.log", "Dec 31 23:59:50 db srv[1]: srv: a\nJan  1 00:00:10 db srv[1]: srv: slow 1s\nJan  1 00:00:20 db srv[1]: srv: b\n")
	f.Modified = time.Date(2026, 1, 1, 0, 0, 30, 0, time.UTC)
	mem, d, err := read(t, source.Options{}, f)
	if err != nil || d.From.Year() != 2025 || d.To.Year() != 2026 {
		t.Errorf("from %v to %v: %v", d.From, d.To, err)
	}

	notes := ""
	for _, n := range mem.Notes() {
		notes += n.Text + "\n"
	}
	for _, want := range []string{"have no zone", "have no year"} {
		if !strings.Contains(notes, want) {
			t.Errorf("no note says %q: %s", want, notes)
		}
	}
}

// Rotated files are one log, whatever their order, compressed or not. Files of other servers are not
// part of it.
func TestRotated(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = z.Write([]byte("2026-01-05 09:00:00 srv: slow 1s\n2026-01-05 09:59:00 srv: x\n"))
	z.Close()

	old := source.File{Path: "logs/srv.log.2.gz", Open: func() (io.ReadCloser, error) {
		return gzip.NewReader(bytes.NewReader(packed.Bytes()))
	}}

	mem, d, err := read(t, source.Options{}, file("logs/srv.log", lines), old)
	if err != nil || d.From.Hour() != 9 || d.To.Hour() != 10 {
		t.Fatalf("from %v to %v: %v", d.From, d.To, err)
	}
	if got, _ := last(t, mem, "srv_slow_total"); got != 2 {
		t.Errorf("%v slow calls, want 2", got)
	}

	for _, other := range []string{"logs/srv-1.log", "other/srv.log"} {
		a := format.Open(file("logs/srv-0.log", lines)).(source.Part)
		b := format.Open(file(other, lines)).(source.Part)
		if a.Whole() == b.Whole() {
			t.Errorf("%s is a part of logs/srv-0.log", other)
		}
	}
	for _, name := range []string{"srv.log.1", "srv.log-20260105", "srv.log.2026-01-05T10-00-00.bz2", "srv.log"} {
		if whole := format.Open(file(name, lines)).(source.Part).Whole(); whole != "srv-log\x00srv.log" {
			t.Errorf("%s is a part of %q", name, whole)
		}
	}
}

// A line of many megabytes, times in the future and lines without a time each cost a note, and no
// memory.
func TestHostile(t *testing.T) {
	text := lines + strings.Repeat("slow ", 1<<20) + "\n2026-01-05 10:00:21 srv: slow 1s" +
		strings.Repeat("x", 3<<20) + "\n9999-01-05 10:00:21 srv: slow 1s\n2026-01-05 10:00:22 srv: slow 1s\n"
	f := file("srv.log", text)
	f.Modified = time.Date(2026, 1, 5, 11, 0, 0, 0, time.UTC)
	mem, d, err := read(t, source.Options{}, f)
	if err != nil || d.To.Year() != 2026 {
		t.Fatalf("%+v: %v", d, err)
	}
	if got, _ := last(t, mem, "srv_slow_total"); got != 2 {
		t.Errorf("%v slow calls, want 2", got) // the truncated one has no readable duration
	}
	if len(mem.Notes()) < 3 {
		t.Errorf("notes: %v", mem.Notes())
	}

	for _, text := range []string{"", "\n\n", "srv: ", "srv: slow 1s\n"} {
		if _, _, err := read(t, source.Options{}, file("srv.log", text)); err == nil {
			t.Errorf("%q is a log", text)
		}
	}
}

// Events over many years make the intervals longer, not more numerous.
func TestLong(t *testing.T) {
	var b strings.Builder
	for day := range 3000 {
		at := time.Date(2010, 1, 1+day, 3, 4, 5, 0, time.UTC)
		fmt.Fprintf(&b, "%s srv: slow 90s\n", at.Format(time.DateTime))
	}
	mem, d, err := read(t, source.Options{}, file("srv.log", b.String()))
	if err != nil || d.Samples > 200_002 {
		t.Fatalf("%d samples: %v", d.Samples, err)
	}
	for metric, want := range map[string]float64{"srv_slow_total": 3000, "srv_slow_running_seconds_total": 270_000} {
		if got, _ := last(t, mem, metric); got != want {
			t.Errorf("%s is %v, want %v", metric, got, want)
		}
	}
}

// Only the requested time is read.
func TestFromTo(t *testing.T) {
	from := time.Date(2026, 1, 5, 10, 0, 15, 0, time.UTC)
	mem, _, err := read(t, source.Options{From: from}, file("srv.log", lines))
	if err != nil {
		t.Fatal(err)
	}
	if got, n := last(t, mem, "srv_slow_total"); got != 0 || n != 7 {
		t.Errorf("%v slow calls in %d samples", got, n)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(lines))
	f.Add([]byte(`{"log":"2026-01-05 10:00:00 srv: slow 1s\n","time":"2026-01-05T10:00:00Z"}` + "\n"))
	f.Add([]byte(`{"__REALTIME_TIMESTAMP":"1767607200000000","MESSAGE":[115,114,118,58,32,115]}` + "\n"))
	f.Add([]byte("2026-01-05T10:00:00Z stderr P 2026-01-05 10\n2026-01-05T10:00:00Z stderr F :00:00 srv: slow 9999999h\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		format.Sniff(b)
		_, _, _ = read(t, source.Options{}, file("srv.log", string(b)))
	})
}
