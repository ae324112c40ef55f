package volume_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"plimsoll/internal/base/random"
	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/volume"
)

// Bad episodes take the published share of time: of 768 volumes, at any time at least one is in an
// episode with a probability of 99.65 %.
func TestEpisodesShare(t *testing.T) {
	const volumes, days = 100, 30
	bad, all := 0, 0
	for v := range volumes {
		cfg := volume.Config{Name: fmt.Sprint(v), Episodes: &volume.PlanetScaleEpisodes}
		q := volume.MustNew(cfg, 1, nil)
		for now := vtime.Instant(0); now < vtime.At(days*24*time.Hour); now = now.Add(3 * time.Minute) {
			all++
			if q.State(now).Degraded {
				bad++
			}
		}
	}

	share := float64(bad) / float64(all)
	chance := 1 - math.Pow(1-share, 768)
	t.Logf("degraded %.3f %% of the time; of 768 one is, with a chance of %.2f %% (published: 99.65)", 100*share, 100*chance)

	if share < .0068 || share > .0078 {
		t.Errorf("degraded %.3f %% of the time, published as 0.734", 100*share)
	}
}

// In an episode, writes and flushes take as long as it says, and reads only if it says so. An episode
// changes nothing before it.
func TestEpisodesStrike(t *testing.T) {
	cfg := ssd
	well := volume.MustNew(cfg, 3, nil)
	e := volume.PlanetScaleEpisodes
	cfg.Episodes = &e
	ill := volume.MustNew(cfg, 3, nil)

	struck := 0
	for now := vtime.Instant(0); now < vtime.At(48*time.Hour); now = now.Add(10 * time.Second) {
		r := volume.Request{Op: volume.Op(now / vtime.At(10*time.Second) % 3), Length: 4096}
		a, b := well.Submit(now, r), ill.Submit(now, r)
		if r.Op == volume.Read || !ill.State(now).Degraded {
			if a != b {
				t.Fatalf("%v at %.0f s: %+v, without episodes %+v", r.Op, now.Seconds(), b, a)
			}
			continue
		}

		struck++
		if took := units.Duration(b.Done.Sub(b.Issued)); took < e.Latency[0] || took > e.Latency[1] || b.Held != volume.Degraded {
			t.Fatalf("%v at %.0f s, in an episode: %v, held by %v", r.Op, now.Seconds(), took, b.Held)
		}
	}

	if struck == 0 {
		t.Error("no episode in two days")
	}
}

// A clock that jumps by a year costs no more than one that advances slowly.
func TestEpisodesJump(t *testing.T) {
	e := volume.PlanetScaleEpisodes
	e.Every, e.Lasts = units.Duration(time.Second), [2]units.Duration{}
	q := volume.MustNew(volume.Config{Episodes: &e}, random.Seed(1), nil)
	now := vtime.Instant(0)
	for range 200 {
		now = now.Add(365 * 24 * time.Hour)
		if c := q.Submit(now, volume.Request{Op: volume.Write, Length: 4096}); c.Issued != now {
			t.Fatalf("issued at %d, submitted at %d", c.Issued, now)
		}
	}
}
