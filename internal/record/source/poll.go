package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"plimsoll/internal/record/recording"
)

const (
	// periodDefault is the default period: at one second, stalls of a few seconds are visible.
	periodDefault = time.Second
	// answerWithin bounds the wait for a sample, unless the period is longer: Prometheus' default
	// scrape_timeout. A stalled database answers late, and exactly that answer matters.
	answerWithin = 10 * time.Second
	// promptly is the number of consecutive failures that are retried after one period each,
	// because a restart is over within seconds. After that, the wait doubles with each failure, up
	// to awayMax.
	promptly = 10
	awayMax  = 15 * time.Second
	// describeEvery is the period of new descriptions of a source.
	describeEvery = time.Minute
	// pausedMin is how much too long a wait must be to be noted: this process or its machine was
	// stopped. A shorter excess may be a busy CPU.
	pausedMin = 5 * time.Second
	// progressEvery is the time between two calls of Progress.
	progressEvery = time.Second
)

// A Sampler takes samples of a running system.
type Sampler interface {
	// Sample takes one sample. Its time is at, the time of the request, unless the source reports
	// a more exact one. Times exclude Options.ClockOffset, which [Polled.Poll] adds. The returned batch is
	// only valid until the next call of Sample. An error means that there is no sample now: the
	// next call may succeed, and should reconnect if necessary. [ErrNothingNew] means that there is
	// no error, and that the last sample is still the newest.
	Sample(ctx context.Context, at time.Time) ([]recording.Batch, error)
	// AddFacts adds facts about the source that the samples showed: version, host, facts. It is called
	// after the first sample, after each gap, and at the end.
	AddFacts(d *recording.Source)
}

// ErrNothingNew is returned by the sampler of a server that takes samples itself, if it has taken
// none since the last call.
var ErrNothingNew = errors.New("no newer sample yet")

// A Polled is the common part of live sources: their description, and the loop that reads them. A
// source embeds one, created by [NewPolled], and its Read calls [Polled.Poll].
type Polled struct {
	patient bool
	within  time.Duration                                  // 0 means answerWithin
	clock   func() (wall time.Time, elapsed time.Duration) // nil means this machine's clock

	mu      sync.Mutex
	desc    recording.Source
	dropped int64
}

// A Dropper is a source that counts the values it dropped, because of impossible times or beyond a
// bound.
type Dropper interface {
	// Dropped returns the number of values dropped so far.
	Dropped() int64
}

// Dropped implements [Dropper].
func (l *Polled) Dropped() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dropped
}

// Drop counts values that the source dropped itself.
func (l *Polled) Drop(values int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dropped += values
}

// NewPolled returns the common part of a source. The description must have Kind and Name.
func NewPolled(d recording.Source) *Polled { return &Polled{desc: d} }

// Patient tolerates a failing first sample, for sources that may come back later and whose absence
// is reported elsewhere. Poll then fails only if there was no sample at all.
func (l *Polled) Patient() *Polled {
	l.patient = true
	return l
}

// AnswerWithin sets the bound on the wait for a sample, unless the period is longer; 0 means ten
// seconds.
func (l *Polled) AnswerWithin(d time.Duration) *Polled {
	l.within = d
	return l
}

// Live implements [Source].
func (*Polled) Live() bool { return true }

// Describe implements [Source]. While Poll runs, To and Samples are those of the last sample.
func (l *Polled) Describe() recording.Source {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.desc
}

// A writeError is an error of the writer, not of the source.
type writeError struct{ error }

func (e writeError) Unwrap() error { return e.error }

// Poll takes samples until Options.For is over or the context ends, which is not an error.
//
// The first sample is taken immediately, the others at whole multiples of the period, so that the
// schedule does not drift and other sources sample at the same times. Poll waits for a sample that
// takes longer than a period. It does not catch up on the samples missed in the meantime, and the
// next one has its own time.
//
// If the first sample fails, so does Poll. A later failure is a gap: the sampler is called again
// each period, less often if the failures persist, and a note gives the start and the end of the
// gap.
//
// Times come from this machine's clock and are strictly ascending. If the clock is set back, a note
// says so, and samples continue on the old clock.
func (l *Polled) Poll(ctx context.Context, w recording.Writer, opt Options, s Sampler) error {
	p := &polling{live: l, w: w, opt: opt, sampler: s, period: cmp.Or(max(opt.Period, 0), periodDefault),
		now: l.clock}
	if p.now == nil {
		p.now = recording.SystemClock()
	}

	defer p.progress()()
	for {
		if err := p.once(ctx); err != nil {
			return err
		}
		if ctx.Err() != nil || !p.wait(ctx) {
			break
		}
	}

	return p.end(ctx)
}

// polling is the state of one call of Poll.
type polling struct {
	live    *Polled
	w       recording.Writer
	opt     Options
	sampler Sampler
	period  time.Duration
	now     func() (wall time.Time, elapsed time.Duration)

	stamps    stamps
	first     time.Time     // time of the first sample
	last      time.Time     // time of the last sample, or of the first request if there is none
	described time.Duration // when the source was last described
	samples   int64
	failed    int // consecutive failures
	failure   error
	late      untimely      // values dropped because of their times
	paused    time.Duration // how much the last wait was too long
}

// once takes a sample, or remembers why there is none.
func (p *polling) once(ctx context.Context) error {
	at, step := p.stamps.next(p.now())
	p.stepped(at, step)
	p.resumed(at)

	if p.last.IsZero() {
		p.last = at.Add(p.opt.ClockOffset).UTC()
	}

	inner, cancel := context.WithTimeout(ctx, max(p.period, cmp.Or(p.live.within, answerWithin)))
	defer cancel()
	batches, err := p.sampler.Sample(inner, at)

	if ctx.Err() != nil {
		return nil // cancelled; this is not a failure of the source
	}
	if errors.Is(err, ErrNothingNew) {
		return nil
	}

	if err == nil {
		batches, err = p.timely(batches)
	}

	if err != nil {
		// The first sample shows whether the address is right, so its failure is an error and not a
		// gap.
		if p.samples == 0 && !p.live.patient {
			return err
		}
		p.failed++
		p.failure = err
		return nil
	}

	for i := range batches {
		b := &batches[i]
		if n := len(b.TimesMs); n > 0 && (i == 0 || time.UnixMilli(b.TimesMs[n-1]).After(at)) {
			at = time.UnixMilli(b.TimesMs[n-1])
		}
		for k := range b.TimesMs {
			b.TimesMs[k] += p.opt.ClockOffset.Milliseconds()
		}
		if err := p.w.Append(ctx, b); err != nil && ctx.Err() == nil {
			return writeError{err}
		}
	}

	p.taken(at)
	return nil
}

// timely drops values with impossible times. An error means that no values are left.
func (p *polling) timely(batches []recording.Batch) ([]recording.Batch, error) {
	wall, _ := p.now()
	if p.stamps.last.After(wall) { // the clock was set back
		wall = p.stamps.last
	}

	had := len(batches)
	batches, u := timely(batches, wall, p.opt.ClockOffset)
	if u.values == 0 {
		return batches, nil
	}

	p.live.Drop(u.values)
	if p.late.values == 0 {
		p.late = u
		p.late.values = 0
		p.w.Note(recording.Note{Kind: recording.NoteDropped, Source: p.name(), From: p.last,
			Text: "dropping values with an impossible time: " + u.text()})
	}

	p.late.values += u.values
	if had > 0 && len(batches) == 0 {
		return nil, fmt.Errorf("%s: all values have an impossible time: %s", p.name(), u.text())
	}

	return batches, nil
}

// taken counts a sample.
func (p *polling) taken(at time.Time) {
	at = at.Add(p.opt.ClockOffset).UTC()

	// A recorder may be killed, so the description of the source is never much older than its
	// samples.
	_, elapsed := p.now()
	describe := p.samples == 0 || p.failed > 0 || elapsed-p.described >= describeEvery
	p.endGap(at)

	if p.samples == 0 {
		p.first = at
	}

	p.last = at
	p.samples++
	p.live.mu.Lock()
	d := &p.live.desc
	d.From, d.To, d.Samples, d.Period = p.first, p.last, p.samples, p.period
	p.live.mu.Unlock()

	if describe {
		p.describe()
	}
}

// describe writes the current description of the source.
func (p *polling) describe() {
	p.live.mu.Lock()
	p.sampler.AddFacts(&p.live.desc)
	d := p.live.desc
	p.live.mu.Unlock()
	_, p.described = p.now()
	p.w.Source(d)
}

// endGap notes the samples that failed until now.
func (p *polling) endGap(at time.Time) {
	if p.failed == 0 {
		return
	}
	text := "cannot take a sample: " + p.failure.Error()
	if p.failed > 1 {
		text = fmt.Sprintf("%d samples in a row failed, the last because: %v", p.failed, p.failure)
	}
	p.w.Note(recording.Note{Kind: recording.NoteGap, Source: p.name(), From: p.last, To: at, Text: text})
	p.failed = 0
}

// stepped notes a change of the clock.
func (p *polling) stepped(at time.Time, step time.Duration) {
	if step == 0 {
		return
	}
	text := fmt.Sprintf("this machine's clock was set back by %s; samples continue on the old clock",
		step.Abs().Round(time.Millisecond))
	if step > 0 {
		text = fmt.Sprintf("this machine's clock was set forward by %s; the rates of that interval are too low",
			step.Round(time.Millisecond))
	}
	p.w.Note(recording.Note{Kind: recording.NoteClock, Source: p.name(), From: p.last,
		To: at.Add(p.opt.ClockOffset).UTC(), Text: text})
}

func (p *polling) name() string { return p.live.Describe().Name }

// pause returns the time between samples, or the wait after failures.
func (p *polling) pause() time.Duration {
	d := p.period
	for n := promptly; n < p.failed && d < awayMax; n++ {
		d *= 2
	}
	return max(p.period, min(d, awayMax))
}

// wait waits until the time of the next sample; false means that there is none.
func (p *polling) wait(ctx context.Context) bool {
	wall, elapsed := p.now()
	pause := p.pause()
	until := wall.Truncate(pause).Add(pause).Sub(wall)
	if p.opt.For > 0 && elapsed+until > p.opt.For {
		return false
	}

	if !Pause(ctx, until) {
		return false
	}
	_, now := p.now()
	p.paused = now - elapsed - until
	return true
}

// Pause waits for a duration. It returns false if the context ended first.
func Pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// resumed notes the time in which this process did not run. If samples failed before, their gap
// includes it.
func (p *polling) resumed(at time.Time) {
	if p.paused < pausedMin || p.failed > 0 {
		return
	}
	p.w.Note(recording.Note{Kind: recording.NoteGap, Source: p.name(), From: p.last,
		To: at.Add(p.opt.ClockOffset).UTC(),
		Text: fmt.Sprintf("this program did not run for %s: the program or its machine was stopped, or there was no CPU time",
			p.paused.Round(100*time.Millisecond))})
}

// end writes the final description.
func (p *polling) end(ctx context.Context) error {
	switch {
	case p.samples == 0 && ctx.Err() == nil:
		return p.failure
	case p.samples == 0:
		return nil // cancelled before the first sample, so there is nothing to report
	}
	_, elapsed := p.now()
	p.endGap(p.stamps.last.Add(elapsed - p.stamps.elapsed).Add(p.opt.ClockOffset).UTC())
	if p.late.values > 1 {
		p.w.Note(recording.Note{Kind: recording.NoteDropped, Source: p.name(), From: p.first, To: p.last,
			Text: fmt.Sprintf("dropped %d values with an impossible time; %s", p.late.values, p.late.text())})
	}
	p.describe()
	return nil
}

// progress calls Progress regularly, also while it waits for a sample. Call the returned function
// to stop.
func (p *polling) progress() (stop func()) {
	if p.opt.Progress == nil {
		return func() {}
	}

	ended := make(chan struct{})
	var reporter sync.WaitGroup
	reporter.Go(func() {
		every := time.NewTicker(progressEvery)
		defer every.Stop()
		for {
			_, elapsed := p.now()
			p.opt.Progress(int64(elapsed), int64(p.opt.For))
			select {
			case <-every.C:
			case <-ended:
				return
			}
		}
	})

	return func() { close(ended); reporter.Wait() }
}

// isWriteError reports whether a Read failed because the recording could not be written.
func isWriteError(err error) bool { return errors.As(err, new(writeError)) }
