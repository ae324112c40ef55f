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
	// periodUnasked is the period where none is asked for: stalls of a few seconds show at one second.
	periodUnasked = time.Second
	// answerWithin is how long a sample is waited for, if the period is not longer: Prometheus' own default
	// scrape_timeout. A database that stalls answers late, and that answer is the one that counts.
	answerWithin = 10 * time.Second
	// promptly is how many failures in a row cost one period each: a restart is over within seconds. After that
	// the wait doubles with each failure, up to awayMax.
	promptly = 10
	awayMax  = 15 * time.Second
	// tellEvery is between two calls of Progress.
	tellEvery = time.Second
)

// A Sampler takes samples of something that runs.
type Sampler interface {
	// Sample takes one. Its time is at, which is when it is asked for, unless the source knows better; times are
	// without Options.ClockOffset, which [Polled.Poll] adds. What is given belongs to the sampler again when Sample is
	// called the next time. An error means that there is no sample now: the next call may succeed, and is to
	// connect anew where that is needed. [ErrNothingNew] means that all is well, and the last sample the newest there is.
	Sample(ctx context.Context, at time.Time) ([]recording.Batch, error)
	// Tell adds what the samples told of the source: version, host, facts. It is called after the first sample, after
	// each gap, and at the end.
	Tell(d *recording.Source)
}

// ErrNothingNew is what a sampler of a server that samples itself gives where that has taken no sample since the last one.
var ErrNothingNew = errors.New("there is no newer sample yet")

// A Polled is what live sources have in common: who they are, and the loop that reads them. A source embeds one, made by
// [NewPolled], and its Read calls [Polled.Poll].
type Polled struct {
	patient bool
	clock   func() (wall time.Time, elapsed time.Duration) // nil: this machine's

	mu   sync.Mutex
	desc recording.Source
}

// NewPolled makes the common part of a source. Of the description, Kind and Name have to be known.
func NewPolled(d recording.Source) *Polled { return &Polled{desc: d} }

// Patient makes even the first sample one that may fail: for sources of which others tell that they are not there, and
// come back. Poll then fails only if there was no sample at all when its time was over.
func (l *Polled) Patient() *Polled {
	l.patient = true
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

// A writeError is the writer's, not the source's.
type writeError struct{ error }

func (e writeError) Unwrap() error { return e.error }

// Poll takes samples until Options.For is over or the context ends, which is no error.
//
// The first is taken at once, the others at whole multiples of the period, so that the schedule does not drift and
// sources beside it sample at the same moments. A sample that takes longer than a period is waited for; those it
// covers are not made up for, and the next has its own time.
//
// If the first sample fails, so does Poll. A later failure is a gap: the sampler is asked again at each
// period, more seldom when it stays away for long, and a note tells from when to when it was.
//
// Times are this machine's and ascend strictly. Where its clock is set back, a note says so, and samples go on
// in the time they were in.
func (l *Polled) Poll(ctx context.Context, w recording.Writer, opt Options, s Sampler) error {
	p := &polling{live: l, w: w, opt: opt, sampler: s, period: cmp.Or(max(opt.Period, 0), periodUnasked), now: l.clock}
	if p.now == nil {
		p.now = machineClock()
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

// machineClock is the wall clock, and time that passes evenly whatever is done to that.
func machineClock() func() (time.Time, time.Duration) {
	begin := time.Now()
	return func() (time.Time, time.Duration) {
		now := time.Now()
		return now.Round(0), now.Sub(begin)
	}
}

// polling is one Poll.
type polling struct {
	live    *Polled
	w       recording.Writer
	opt     Options
	sampler Sampler
	period  time.Duration
	now     func() (wall time.Time, elapsed time.Duration)

	stamps  stamps
	first   time.Time // of the samples there are
	last    time.Time // the same; before there is one, when it was asked for at first
	samples int64
	failed  int // in a row
	failure error
}

// once takes a sample, or keeps in mind why there is none.
func (p *polling) once(ctx context.Context) error {
	at, step := p.stamps.next(p.now())
	p.stepped(at, step)
	if p.last.IsZero() {
		p.last = at.Add(p.opt.ClockOffset).UTC()
	}
	inner, cancel := context.WithTimeout(ctx, max(p.period, answerWithin))
	defer cancel()
	batches, err := p.sampler.Sample(inner, at)
	if ctx.Err() != nil {
		return nil // whatever the last sample says of it
	}
	if errors.Is(err, ErrNothingNew) {
		return nil
	}
	if err != nil {
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

// taken counts a sample.
func (p *polling) taken(at time.Time) {
	at = at.Add(p.opt.ClockOffset).UTC()
	tell := p.samples == 0 || p.failed > 0
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
	if tell {
		p.tell()
	}
}

// tell says who the samples are from.
func (p *polling) tell() {
	p.live.mu.Lock()
	p.sampler.Tell(&p.live.desc)
	d := p.live.desc
	p.live.mu.Unlock()
	p.w.Source(d)
}

// endGap leaves a note about the samples that failed until now.
func (p *polling) endGap(at time.Time) {
	if p.failed == 0 {
		return
	}
	text := "no sample could be taken, because: " + p.failure.Error()
	if p.failed > 1 {
		text = fmt.Sprintf("%d samples in a row could not be taken, the last because: %v", p.failed, p.failure)
	}
	p.w.Note(recording.Note{Kind: recording.NoteGap, Source: p.name(), From: p.last, To: at, Text: text})
	p.failed = 0
}

// stepped leaves a note about a clock that was set.
func (p *polling) stepped(at time.Time, step time.Duration) {
	if step == 0 {
		return
	}
	text := fmt.Sprintf("this machine's clock went back by %s; samples go on in the time from before", step.Abs().Round(time.Millisecond))
	if step > 0 {
		text = fmt.Sprintf("this machine's clock went forward by %s; the rates of that interval are too low", step.Round(time.Millisecond))
	}
	p.w.Note(recording.Note{Kind: recording.NoteClock, Source: p.name(), From: p.last, To: at.Add(p.opt.ClockOffset).UTC(), Text: text})
}

func (p *polling) name() string { return p.live.Describe().Name }

// pause is how long a failure is waited after, and how far samples are apart else.
func (p *polling) pause() time.Duration {
	d := p.period
	for n := promptly; n < p.failed && d < awayMax; n++ {
		d *= 2
	}
	return max(p.period, min(d, awayMax))
}

// wait waits for the time of the next sample; false if there is none.
func (p *polling) wait(ctx context.Context) bool {
	wall, elapsed := p.now()
	pause := p.pause()
	until := wall.Truncate(pause).Add(pause).Sub(wall)
	if p.opt.For > 0 && elapsed+until > p.opt.For {
		return false
	}
	t := time.NewTimer(until)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// end tells what is known when all is over.
func (p *polling) end(ctx context.Context) error {
	switch {
	case p.samples == 0 && ctx.Err() == nil:
		return p.failure
	case p.samples == 0:
		return nil // who ended it knows why there is nothing
	}
	_, elapsed := p.now()
	p.endGap(p.stamps.last.Add(elapsed - p.stamps.elapsed).Add(p.opt.ClockOffset).UTC())
	p.tell()
	return nil
}

// progress calls Progress now and then, also while a sample keeps waiting. What it gives ends that.
func (p *polling) progress() (stop func()) {
	if p.opt.Progress == nil {
		return func() {}
	}
	ended := make(chan struct{})
	var told sync.WaitGroup
	told.Go(func() {
		every := time.NewTicker(tellEvery)
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
	return func() { close(ended); told.Wait() }
}

// isWriteError reports whether a Read failed for want of a place to write to.
func isWriteError(err error) bool { return errors.As(err, new(writeError)) }
