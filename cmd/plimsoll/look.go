package main

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/record/recording"
)

const (
	// lookFirst is the time until a live diagnosis first looks at its data, lookEvery the time between
	// two looks.
	lookFirst = 10 * time.Second
	lookEvery = 5 * time.Second
	// lookShare bounds the time that looks take: after each, only sampling runs for this many times as long.
	lookShare = 20
	// A cause is named once it was foremost in this many looks in a row and explains this much of at least
	// this many episodes: a single episode could be explained by anything that happened at the time.
	looksToBeSure    = 3
	shareToBeSure    = 0.8
	episodesToBeSure = 2
	// A cause that was named is named again if its share of the stall changed by this much. If progress is
	// printed as lines, each change prints one.
	shareChanged = 0.08
)

// lookWhile repeatedly diagnoses what live sources have shown so far, for the progress line. The returned
// function ends it. The final diagnosis does not depend on it.
func lookWhile(ctx context.Context, readers []recording.Reader, opt diagnose.Options,
	t *tally) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var looking sync.WaitGroup
	looking.Go(func() {
		seen := &looked{}
		for wait := lookFirst; ; {
			select {
			case <-ctx.Done():
				return
			case <-time.After(wait):
			}

			began := time.Now()
			r, err := diagnose.Each(ctx, readers, opt)
			wait = max(lookEvery, lookShare*time.Since(began))
			if err != nil {
				continue // too few samples, or the end
			}
			t.setLive(seen.text(r))
		}
	})

	return func() {
		cancel()
		looking.Wait()
	}
}

// looked is the result of the looks.
type looked struct {
	rule  string  // of the foremost cause
	times int     // in a row
	share float64 // as last named; 0 if it was not
}

// text reports the latency that clients see, and the cause once it is certain.
func (l *looked) text(r *diagnose.Report) (live, news string) {
	if now, worst := latencies(r); worst > 0 {
		live = "worst latency " + units.Seconds(worst)
		if now > 0 {
			live = fmt.Sprintf("latency %s, worst %s", units.Seconds(now), units.Seconds(worst))
		}
	}
	if r.Stalls.Seconds <= 0 {
		*l = looked{}
		return live, ""
	}
	if live != "" {
		live += ", "
	}
	live += "stalled " + r.Stalls.Range()

	cause := diagnose.Finding{}
	if len(r.Findings) > 0 && r.Findings[0].Kind == diagnose.Cause && r.Findings[0].Severity != diagnose.Info {
		cause = r.Findings[0]
	}
	if l.times++; cause.Rule != l.rule {
		*l = looked{rule: cause.Rule, times: 1}
	}
	if l.rule == "" || l.times < looksToBeSure || cause.Weight < shareToBeSure || r.Stalls.Episodes < episodesToBeSure {
		return live, ""
	}

	if math.Abs(cause.Weight-l.share) >= shareChanged {
		l.share = cause.Weight
	}
	return live, fmt.Sprintf("found so far: %s (%s), %s of the stall; Ctrl-C ends sampling and shows the diagnosis",
		cause.Title, cause.Subject, units.Percent(l.share))
}

// latencies are the newest and the highest latency of the first track of one; 0 if there is none.
func latencies(r *diagnose.Report) (now, worst float64) {
	for _, track := range r.Timeline {
		if track.Unit != "seconds" {
			continue
		}
		for _, v := range track.Values {
			if v != nil {
				now, worst = *v, max(worst, *v)
			}
		}
		return now, worst
	}
	return 0, 0
}
