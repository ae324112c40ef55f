package source

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"plimsoll/internal/record/recording"
)

// server is a database that answers late or not at all.
type server struct {
	answer func(n int) (after time.Duration, err error) // nil: immediately
	asked  int
	added  int
}

func (s *server) Sample(ctx context.Context, at time.Time) ([]recording.Batch, error) {
	s.asked++
	if s.answer != nil {
		after, err := s.answer(s.asked)
		select {
		case <-time.After(after):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if err != nil {
			return nil, err
		}
	}
	return []recording.Batch{{TimesMs: []int64{at.UnixMilli()}}}, nil
}

func (s *server) AddFacts(d *recording.Source) {
	s.added++
	d.Version = fmt.Sprint("asked ", s.asked)
}

// A transcript records everything that is written, as text: times since the start of the bubble.
type transcript struct {
	mu    sync.Mutex
	lines []string
	full  bool
}

var midnight = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) // where a synctest bubble starts

func since(t time.Time) string {
	if t.IsZero() {
		return "?"
	}
	return t.Sub(midnight).String()
}

func (p *transcript) put(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lines = append(p.lines, fmt.Sprintf(format, args...))
}

func (p *transcript) Append(_ context.Context, b *recording.Batch) error {
	if p.full {
		return errors.New("no space left on device")
	}
	p.put("%s", since(time.UnixMilli(b.TimesMs[0])))
	return nil
}

func (p *transcript) Note(n recording.Note) {
	p.put("%s %s to %s: %s", n.Kind, since(n.From), since(n.To), n.Text)
}

func (p *transcript) Source(d recording.Source) {
	p.put("%s %s: %d from %s to %s", d.Name, d.Version, d.Samples, since(d.From), since(d.To))
}

func (p *transcript) is(t *testing.T, want string) {
	t.Helper()
	if got := strings.Join(p.lines, "\n"); got != strings.TrimSpace(want) {
		t.Errorf("written:\n%s\nwant:\n%s", got, want)
	}
}

func source() *Polled { return NewPolled(recording.Source{Kind: "test", Name: "db"}) }

var errAway = errors.New("connection refused")

// The first sample is taken immediately, the others at whole seconds. Poll waits for a late one, and
// the next one is still on time.
func TestSchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(300 * time.Millisecond)
		var shown []int64
		w, s := &transcript{}, &server{answer: func(n int) (time.Duration, error) {
			if n == 3 {
				return 2500 * time.Millisecond, nil // a stall
			}
			return 20 * time.Millisecond, nil
		}}

		opt := Options{For: 6 * time.Second, Progress: func(done, total int64) { shown = append(shown, done/1e6, total/1e9) }}
		if err := source().Poll(t.Context(), w, opt, s); err != nil {
			t.Fatal(err)
		}

		w.is(t, `
300ms
db asked 1: 1 from 300ms to 300ms
1s
2s
5s
6s
db asked 5: 5 from 300ms to 6s`)

		// Progress is also reported while Poll waits for an answer.
		if got := fmt.Sprint(shown); got != "[0 6 1000 6 2000 6 3000 6 4000 6 5000 6]" {
			t.Errorf("progress %s", got)
		}
	})
}

// A database that restarts leaves a gap with its times and its reason, and sampling continues.
func TestRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, s := &transcript{}, &server{answer: func(n int) (time.Duration, error) {
			switch n {
			case 3, 4:
				return 0, errAway
			case 7:
				return time.Hour, nil // it accepts the request and never answers
			}
			return 0, nil
		}}

		if err := source().Poll(t.Context(), w, Options{For: 17 * time.Second, ClockOffset: time.Minute}, s); err != nil {
			t.Fatal(err)
		}

		w.is(t, `
1m0s
db asked 1: 1 from 1m0s to 1m0s
1m1s
1m4s
gap 1m1s to 1m4s: 2 samples in a row failed, the last because: connection refused
db asked 5: 3 from 1m0s to 1m4s
1m5s
1m17s
gap 1m5s to 1m17s: cannot take a sample: context deadline exceeded
db asked 8: 5 from 1m0s to 1m17s
db asked 8: 5 from 1m0s to 1m17s`)
	})
}

// A source that stays away is retried less and less often, down to a limit. The gap is also reported at
// the end.
func TestBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		w, s := &transcript{}, &server{answer: func(n int) (time.Duration, error) {
			asked = append(asked, since(time.Now()))
			if n > 1 {
				return 0, errAway
			}
			return 0, nil
		}}

		if err := source().Poll(t.Context(), w, Options{For: time.Minute}, s); err != nil {
			t.Fatal(err)
		}

		if got, want := strings.Join(asked, " "), "0s 1s 2s 3s 4s 5s 6s 7s 8s 9s 10s 11s 12s 16s 24s 30s 45s 1m0s"; got != want {
			t.Errorf("asked at %s, want %s", got, want)
		}

		w.is(t, `
0s
db asked 1: 1 from 0s to 0s
gap 0s to 1m0s: 17 samples in a row failed, the last because: connection refused
db asked 18: 1 from 0s to 0s`)
	})
}

// The first sample shows whether there is anything to read; a patient source waits for it.
func TestFirstSample(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		away := func(until int) *server {
			return &server{answer: func(n int) (time.Duration, error) {
				if n <= until {
					return 0, errAway
				}
				return 0, nil
			}}
		}

		w := &transcript{}
		if err := source().Poll(t.Context(), w, Options{}, away(1)); !errors.Is(err, errAway) || len(w.lines) > 0 {
			t.Errorf("%v, %q", err, w.lines)
		}

		if err := source().Patient().Poll(t.Context(), w, Options{For: 3 * time.Second}, away(1000)); !errors.Is(err, errAway) || len(w.lines) > 0 {
			t.Errorf("a source that never answered: %v, %q", err, w.lines)
		}

		time.Sleep(time.Until(midnight.Add(10 * time.Second)))
		if err := source().Patient().Poll(t.Context(), w, Options{For: 2 * time.Second}, away(2)); err != nil {
			t.Error(err)
		}

		w.is(t, `
12s
gap 10s to 12s: 2 samples in a row failed, the last because: connection refused
db asked 3: 1 from 12s to 12s
db asked 3: 1 from 12s to 12s`)
	})
}

// The end of the context is never an error; a failure to write the recording is.
func TestEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, after := range []time.Duration{0, 100 * time.Millisecond, 1500 * time.Millisecond} {
			ctx, cancel := context.WithTimeout(t.Context(), after)
			s := &server{answer: func(int) (time.Duration, error) { return 200 * time.Millisecond, nil }}
			src := source()
			if err := src.Poll(ctx, &transcript{}, Options{}, s); err != nil {
				t.Errorf("after %s: %v", after, err)
			}
			cancel()
			if n := src.Describe().Samples; (after > time.Second) != (n == 2) {
				t.Errorf("after %s: %d samples", after, n)
			}
		}
		if err := source().Poll(t.Context(), &transcript{full: true}, Options{}, &server{}); err == nil || err.Error() != "no space left on device" {
			t.Errorf("a full disk: %v", err)
		}
	})
}

// A clock that is set, forward or back, is reported. Sampling continues, and the times ascend.
func TestClockStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, src := &transcript{}, source()
		machine := recording.SystemClock()
		src.clock = func() (time.Time, time.Duration) {
			wall, elapsed := machine()
			switch {
			case elapsed >= 7*time.Second: // right again, after an hour's sleep
				wall = wall.Add(time.Hour)
			case elapsed >= 3*time.Second: // set back by ten minutes
				wall = wall.Add(-10 * time.Minute)
			}
			return wall, elapsed
		}

		if err := src.Poll(t.Context(), w, Options{For: 9 * time.Second, Period: 2 * time.Second}, &server{}); err != nil {
			t.Fatal(err)
		}

		w.is(t, `
0s
db asked 1: 1 from 0s to 0s
2s
clock 2s to 4s: this machine's clock was set back by 10m0s; samples continue on the old clock
4s
6s
clock 6s to 1h0m8s: this machine's clock was set forward by 1h10m0s; the rates of that interval are too low
1h0m8s
db asked 5: 5 from 0s to 1h0m8s`)
	})
}

// TestStopped: a program that is stopped for some seconds, for example by SIGSTOP, leaves a gap with a
// note. A wait that is slightly too long does not.
func TestStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, src := &transcript{}, source()
		machine := recording.SystemClock()
		src.clock = func() (time.Time, time.Duration) {
			wall, elapsed := machine()
			stopped := time.Duration(0)
			if elapsed >= 2*time.Second {
				stopped += 14 * time.Second
			}
			if elapsed >= 5*time.Second {
				stopped += 3 * time.Second
			}
			return wall.Add(stopped), elapsed + stopped
		}

		if err := src.Poll(t.Context(), w, Options{For: 24 * time.Second}, &server{}); err != nil {
			t.Fatal(err)
		}

		w.is(t, `
0s
db asked 1: 1 from 0s to 0s
1s
gap 1s to 16s: this program did not run for 14s: the program or its machine was stopped, or there was no CPU time
16s
17s
18s
22s
23s
24s
db asked 8: 8 from 0s to 24s`)
	})
}

// Whatever the clock does, the times of samples ascend by at least a millisecond, are never behind the
// clock, and are at least as far apart as the time that passed.
func TestStamps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s stamps
		wall, elapsed, last := midnight, time.Duration(0), time.Time{}
		for range rapid.IntRange(2, 20).Draw(t, "samples") {
			passed := time.Duration(rapid.Int64Range(0, int64(3*time.Second)).Draw(t, "passed"))
			set := time.Duration(rapid.Int64Range(-int64(time.Hour), int64(time.Hour)).Draw(t, "set"))
			if rapid.Bool().Draw(t, "steady") {
				set = 0
			}

			wall, elapsed = wall.Add(passed+set), elapsed+passed
			at, step := s.next(wall, elapsed)
			if !last.IsZero() {
				if at.UnixMilli() <= last.UnixMilli() || at.Before(wall) || at.Sub(last) < passed {
					t.Fatalf("%s after %s, %s later by a clock at %s", at, last, passed, wall)
				}
				if (step != 0) != (set.Abs() >= stepMin) {
					t.Fatalf("a clock that was set by %s: %s was reported", set, step)
				}
			}

			last = at
		}
	})
}

// An unreachable member of a cluster does not delay the others.
func TestGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		member := func(name string, answer func(n int) (time.Duration, error)) Source {
			return reader{NewPolled(recording.Source{Name: name}).Patient(), &server{answer: answer}}
		}
		away := func(int) (time.Duration, error) { return 0, errAway }
		slow := func(int) (time.Duration, error) { return 5 * time.Second, nil }
		w := &transcript{}

		g := NewGroup(recording.Source{Name: "cluster"}, []Source{member("a", away), member("b", nil), member("c", slow)}, nil)
		if err := g.Read(t.Context(), w, Options{For: 2 * time.Second}); err != nil || !g.Live() || g.Describe().Name != "cluster" {
			t.Error(err, g)
		}

		w.is(t, `
0s
b asked 1: 1 from 0s to 0s
1s
2s
b asked 3: 3 from 0s to 2s
0s
c asked 1: 1 from 0s to 0s
c asked 1: 1 from 0s to 0s
gap ? to ?: no samples: connection refused`)

		if err := NewGroup(recording.Source{}, []Source{member("a", away), member("b", away)}, nil).Read(t.Context(), w, Options{For: time.Second}); !errors.Is(err, errAway) {
			t.Errorf("a cluster that is away: %v", err)
		}

		if err := NewGroup(recording.Source{}, []Source{member("a", away), member("b", nil)}, nil).Read(t.Context(), &transcript{full: true}, Options{}); err == nil || !isWriteError(err) {
			t.Errorf("a full disk: %v", err)
		}
	})
}

type reader struct {
	*Polled
	s *server
}

func (r reader) Read(ctx context.Context, w recording.Writer, opt Options) error {
	return r.Poll(ctx, w, opt, r.s)
}
