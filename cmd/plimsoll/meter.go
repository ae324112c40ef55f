package main

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"plimsoll/internal/base/units"
)

// When progress is shown: a run that ends immediately needs none.
const (
	meterAfter    = 2 * time.Second
	meterRedraw   = 200 * time.Millisecond // on a terminal: one line, rewritten
	meterRepeat   = 10 * time.Second       // elsewhere: one line after another, for logs
	meterSampling = time.Minute            // the same while live sources are sampled: their end is known
	meterBarWidth = 16
)

// A meter shows a tally during the work: on a terminal one line that is rewritten and finally
// erased, otherwise a plain line from time to time.
type meter struct {
	tally *tally
	out   stream
	now   func() time.Time
	ascii bool
	// ends says what Ctrl-C does while live sources are sampled; "" if that is not special.
	ends string

	phase string    // the one being shown
	since time.Time // when it was first seen
	from  float64   // and how much of it was done then
	drawn bool
	news  string // the one that was printed
}

// show starts the display. The returned function ends it and may be called again.
func (m *meter) show() (stop func()) {
	done, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		m.loop(done)
	}()
	var once sync.Once
	return func() {
		once.Do(func() { close(done) })
		<-gone
	}
}

func (m *meter) loop(done <-chan struct{}) {
	m.observe(m.tally.sum())
	watch := time.NewTicker(meterRedraw)
	defer watch.Stop()

	began, last := m.now(), time.Time{}
	for {
		select {
		case <-done:
			if m.drawn && m.out.terminal {
				fmt.Fprint(m.out, "\r\x1b[K")
			}
			for _, text := range m.tally.charged() {
				fmt.Fprintf(m.out, "plimsoll: %s\n", text)
			}
			return
		case <-watch.C:
		}

		w := m.tally.sum()
		m.observe(w)
		m.report(w)

		now := m.now()
		switch {
		case now.Sub(began) < meterAfter:
		case m.out.terminal:
			m.rewrite(w, now)
		case last.IsZero() || now.Sub(last) >= repeat(w):
			last = now
			fmt.Fprintf(m.out, "plimsoll: %s\n", m.text(w, now))
		}
	}
}

// report prints what became certain, on a line that stays.
func (m *meter) report(w work) {
	if w.news == "" || w.news == m.news {
		return
	}
	m.news = w.news
	if m.drawn && m.out.terminal {
		fmt.Fprint(m.out, "\r\x1b[K")
	}
	fmt.Fprintf(m.out, "plimsoll: %s\n", w.news)
}

func repeat(w work) time.Duration {
	if w.unit == unitTime {
		return meterSampling
	}
	return meterRepeat
}

// observe notices when a phase begins, so that rates cover only this phase.
func (m *meter) observe(w work) {
	if w.phase != m.phase {
		m.phase, m.since, m.from = w.phase, m.now(), w.done
	}
}

func (m *meter) rewrite(w work, now time.Time) {
	line := m.text(w, now)
	if w.total > 0 {
		line = m.bar(w.done/w.total) + " " + line
	}
	width := m.out.columns()
	if width <= 0 {
		width = widthDefault
	}
	if r := []rune(line); len(r) > width-1 { // leave the last column free: terminals may wrap there
		line = string(r[:max(0, width-1)])
	}
	fmt.Fprintf(m.out, "\r\x1b[K%s", line)
	m.drawn = true
}

func (m *meter) bar(part float64) string {
	full, empty := "█", "░"
	if m.ascii {
		full, empty = "#", "."
	}
	n := int(min(1, max(0, part)) * meterBarWidth)
	return strings.Repeat(full, n) + strings.Repeat(empty, meterBarWidth-n)
}

// text describes the progress: the amount done, the rate, and the time left.
func (m *meter) text(progress work, now time.Time) string {
	switch progress.unit {
	case unitTime:
		if progress.total > 0 {
			text := fmt.Sprintf("%s %s of %s", progress.phase, units.Seconds(progress.done), units.Seconds(progress.total))
			if progress.live != "" { // it changes, so it comes first where the line is narrow
				text += "; " + progress.live
			}
			if m.ends != "" {
				text += "; " + m.ends
			}
			return text
		}
		return fmt.Sprintf("%s for %s; Ctrl-C stops it", progress.phase, units.Seconds(progress.done))
	case unitSteps:
		if progress.total == 0 { // the total is not known
			return progress.phase
		}
		if progress.things != "" {
			return m.countText(progress, now)
		}
		return fmt.Sprintf("%s %.0f of %.0f", progress.phase, progress.done, progress.total)
	}

	text := fmt.Sprintf("%s %s", progress.phase, units.Bytes(progress.done))
	if progress.total > 0 {
		text += fmt.Sprintf(" of %s (%s)", units.Bytes(progress.total), units.Percent(progress.done/progress.total))
	}

	// Without progress since the start there is no rate to estimate from.
	took := now.Sub(m.since).Seconds()
	if took <= 0 || progress.done <= m.from {
		return text
	}

	rate := (progress.done - m.from) / took
	text += fmt.Sprintf(", %s/s", units.Bytes(rate))
	if progress.total > progress.done {
		text += fmt.Sprintf(", %s left", units.Seconds((progress.total-progress.done)/rate))
	}

	return text
}

// countText reports how many things are done, the rate, and the time left.
func (m *meter) countText(w work, now time.Time) string {
	text := fmt.Sprintf("%s %.0f of %.0f %s", w.phase, w.done, w.total, w.things)
	took := now.Sub(m.since).Seconds()
	if took <= 0 || w.done <= m.from {
		return text
	}
	rate := (w.done - m.from) / took
	return fmt.Sprintf("%s, %s/s, %s left", text, units.Number(rate), units.Seconds((w.total-w.done)/rate))
}

// meter returns a meter that shows a tally on stderr.
func (a *app) meter(t *tally) *meter {
	return &meter{tally: t, out: a.stderr, now: a.now, ascii: !a.unicode()}
}

// progress starts to report a tally on stderr.
func (a *app) progress() (t *tally, stop func()) {
	t = &tally{}
	return t, a.meter(t).show()
}
