package main

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A screen is a stream that tests can read while a meter writes to it.
type screen struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

func testMeter(t *tally, s *screen, terminal bool, columns int) *meter {
	return &meter{tally: t, now: time.Now, ascii: true,
		out: stream{Writer: s, terminal: terminal, columns: func() int { return columns }}}
}

func TestMeterIsSilentAboutShortRuns(t *testing.T) {
	for _, terminal := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			var s screen
			tally := &tally{}
			tally.start(false)(10, 100)
			stop := testMeter(tally, &s, terminal, 80).show()
			time.Sleep(meterAfter - time.Millisecond)
			stop()
			if s.String() != "" {
				t.Errorf("terminal %v: a run of under two seconds shows %q", terminal, s.String())
			}
		})
	}
}

func TestMeterPlainLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s screen
		tally := &tally{}
		progress := tally.start(false)
		stop := testMeter(tally, &s, false, 0).show()

		for range 25 {
			time.Sleep(time.Second)
			progress(int64(time.Since(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)).Seconds()*10e6), 500e6)
		}

		stop()
		stop() // may be called again
		lines := strings.Split(strings.TrimSpace(s.String()), "\n")
		if len(lines) != 3 {
			t.Fatalf("25 s give %d lines, want those at 2, 12 and 22 s:\n%s", len(lines), s.String())
		}

		if lines[1] != "plimsoll: reading 110 MB of 500 MB (22 %), 9.17 MB/s, 42.5 s left" && lines[1] != "plimsoll: reading 120 MB of 500 MB (24 %), 10.0 MB/s, 38.0 s left" {
			t.Errorf("the line at 12 s is %q", lines[1])
		}

		if strings.Contains(s.String(), "\x1b") || strings.Contains(s.String(), "\r") {
			t.Errorf("a log gets terminal codes: %q", s.String())
		}
	})
}

func TestMeterOnTerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s screen
		tally := &tally{}
		progress := tally.start(false)
		stop := testMeter(tally, &s, true, 60).show()
		time.Sleep(5 * time.Second)
		progress(50e6, 100e6)
		time.Sleep(time.Second)
		shown := s.String()

		last := shown[strings.LastIndex(shown, "\r\x1b[K")+len("\r\x1b[K"):]
		if !strings.HasPrefix(last, strings.Repeat("#", meterBarWidth/2)+strings.Repeat(".", meterBarWidth/2)+" reading 50.0 MB of 100 MB (50 %)") {
			t.Errorf("at half the line is %q", last)
		}

		if len(last) > 59 {
			t.Errorf("the line is %d columns wide on a terminal of 60: %q", len(last), last)
		}

		stop()
		if !strings.HasSuffix(s.String(), "\r\x1b[K") {
			t.Errorf("the line is still there at the end: %q", s.String())
		}

		if strings.Contains(s.String(), "\n") {
			t.Errorf("more than one line is used: %q", s.String())
		}
	})
}

func TestTallySum(t *testing.T) {
	var empty tally
	if w := empty.sum(); w.done != 0 || w.total != 0 {
		t.Errorf("nothing started, and the result is %+v", w)
	}

	ta := &tally{}
	file, live := ta.start(false), ta.start(true)
	file(30, 100)
	live(int64(2*time.Second), int64(10*time.Second))

	if w := ta.sum(); w != (work{phase: "reading", unit: unitBytes, done: 30, total: 100}) {
		t.Errorf("while a file is read: %+v", w)
	}

	other := ta.start(false)
	other(5, 0)
	if w := ta.sum(); w != (work{phase: "reading", unit: unitBytes, done: 35, total: 0}) {
		t.Errorf("a source of unknown size makes the total unknown: %+v", w)
	}

	file(100, 100)
	other(20, 20)
	if w := ta.sum(); w != (work{phase: "sampling", unit: unitTime, done: 2, total: 10}) {
		t.Errorf("once the files are read: %+v", w)
	}

	ta.setStage("judging rules", 3, 30)
	if w := ta.sum(); w != (work{phase: "judging rules", unit: unitSteps, done: 3, total: 30}) {
		t.Errorf("afterwards: %+v", w)
	}
}

func TestMeterText(t *testing.T) {
	m := &meter{}
	for _, c := range []struct {
		w    work
		want string
	}{
		{work{phase: "sampling", unit: unitTime, done: 12, total: 60}, "sampling 12.0 s of 60.0 s"},
		{work{phase: "sampling", unit: unitTime, done: 12}, "sampling for 12.0 s; Ctrl-C stops it"},
		{work{phase: "judging rules", unit: unitSteps, done: 3, total: 30}, "judging rules 3 of 30"},
		{work{phase: "reading", unit: unitBytes}, "reading 0 B"},
		{work{phase: "reading", unit: unitBytes, done: 5e6}, "reading 5.00 MB, 500 kB/s"},
	} {
		if got := m.text(c.w, m.since.Add(10*time.Second)); got != c.want {
			t.Errorf("%+v reads %q, want %q", c.w, got, c.want)
		}
	}
}

// While a diagnosis samples, its progress line says what Ctrl-C does.
func TestMeterSaysWhatInterruptingDoes(t *testing.T) {
	m := &meter{ends: "Ctrl-C diagnoses what there is"}
	got := m.text(work{phase: "sampling", unit: unitTime, done: 12, total: 60}, time.Time{})
	if want := "sampling 12.0 s of 60.0 s; Ctrl-C diagnoses what there is"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
