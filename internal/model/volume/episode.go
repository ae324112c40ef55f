package volume

import (
	"plimsoll/internal/base/random"
	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
)

// episodes are the bad times of one volume, drawn as time passes. Requests refer to instants that go
// back and forth a little (a flush overtakes requests that wait for a limit), so the last few episodes
// are kept.
type episodes struct {
	config Episodes
	times  *random.Stream // when they come and how long they last
	felt   *random.Stream // how long an operation takes in it
	known  [8]span        // a ring; known[next-1] is the latest
	next   int
	quiet  vtime.Instant // from here to the latest there is none
}

type span struct{ from, to vtime.Instant }

func newEpisodes(c Episodes, seed random.Seed, name string) *episodes {
	e := &episodes{config: c, times: seed.Stream(name + ".episodes"),
		felt: seed.Stream(name + ".episodes.latency")}
	for i := range e.known {
		e.known[i] = span{-1, -1}
	}
	e.add(0)
	return e
}

// add draws the next episode after an instant.
func (e *episodes) add(after vtime.Instant) {
	e.quiet = after
	from := after.Add(e.times.Exponential(e.config.Every.Std()))
	e.known[e.next%len(e.known)] = span{from, from.Add(e.between(e.times, e.config.Lasts).Std())}
	e.next++
}

func (e *episodes) between(s *random.Stream, bounds [2]units.Duration) units.Duration {
	return bounds[0] + units.Duration(s.Below(uint64(bounds[1]-bounds[0])+1))
}

// skipped bounds the unused episodes that are drawn one by one. After that the next one is drawn
// afresh, so the cost does not depend on how long ago the last use was.
const skipped = 1000

// bad reports whether an instant is in an episode.
func (e *episodes) bad(at vtime.Instant) bool {
	latest := &e.known[(e.next-1)%len(e.known)]
	if at < latest.from {
		// Most requests come after the previous episode and before the next one.
		if at >= e.quiet {
			return false
		}
		for i := range e.known {
			if s := &e.known[i]; at >= s.from && at < s.to {
				return true
			}
		}
		return false
	}

	for i := 0; at >= latest.to && latest.to < vtime.Never; i++ {
		after := latest.to
		if i == skipped {
			after = at
		}
		e.add(after)
		latest = &e.known[(e.next-1)%len(e.known)]
		if i == skipped {
			break
		}
	}

	return at >= latest.from && at < latest.to
}

// strikes reports whether an operation issued at an instant is in an episode and affected by it.
func (e *episodes) strikes(op Op, at vtime.Instant) bool {
	return (op != Read || e.config.Reads) && e.bad(at)
}

// latency returns how long an operation takes in an episode.
func (e *episodes) latency() units.Duration { return e.between(e.felt, e.config.Latency) }
