package volume_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"plimsoll/internal/base/random"
	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/volume"
)

func rapidSeed(t *rapid.T) random.Seed { return random.Seed(rapid.Uint64().Draw(t, "seed")) }

// overshoot returns the maximum by which the issued requests exceed a limit, over any window.
func overshoot(issued []weighted, perSecond float64) float64 {
	slices.SortFunc(issued, func(a, b weighted) int { return int(a.at - b.at) })
	var level, most float64
	for i, w := range issued {
		if i > 0 {
			level = max(0, level-perSecond*w.at.Sub(issued[i-1].at).Seconds())
		}
		level += w.amount
		most = max(most, level)
	}
	return most
}

type weighted struct {
	at     vtime.Instant
	amount float64
}

// Several volumes together never exceed the instance's limits by more than a slice's worth and one
// request each, whatever is submitted in whatever order.
func TestTogetherNeverOverTheInstance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limits := volume.Rate{
			IOPS:       units.Frequency(rapid.IntRange(100, 20_000).Draw(t, "instance IOPS")),
			Throughput: units.Throughput(rapid.IntRange(1_000_000, 1_000_000_000).Draw(t, "instance throughput")),
		}

		on, err := volume.NewInstance(volume.InstanceConfig{Baseline: limits})
		if err != nil {
			t.Fatal(err)
		}

		const n = 3
		var volumes [n]*volume.Queue
		var last [n]vtime.Instant

		for i := range volumes {
			volumes[i] = volume.MustNew(volume.Config{Sustained: rates(t), Operation: ssd.Operation}, 1, on)
		}

		var operations, bytes []weighted
		var largest float64
		for i, a := range arrivals(t, 100) {
			a.r.Length = min(a.r.Length, ssd.Operation)
			v := rapid.IntRange(0, n-1).Draw(t, "volume")
			c := volumes[v].Submit(a.now, a.r)
			if c.Issued < last[v] {
				t.Fatalf("request %d is issued at %d, before one that came before it on its volume, at %d", i, c.Issued, last[v])
			}
			last[v] = c.Issued
			largest = max(largest, float64(a.r.Length))
			operations = append(operations, weighted{c.Issued, float64(c.Operations)})
			bytes = append(bytes, weighted{c.Issued, float64(a.r.Length)})
		}

		if over, most := overshoot(operations, float64(limits.IOPS)), float64(limits.IOPS)/1000+n+.1; over > most {
			t.Fatalf("%.2f operations at once over %v, at most %.2f", over, limits.IOPS, most)
		}

		if over, most := overshoot(bytes, float64(limits.Throughput)), float64(limits.Throughput)/1000+n*largest+1000; over > most {
			t.Fatalf("%.0f bytes at once over %v, at most %.0f", over, limits.Throughput, most)
		}
	})
}

// One volume alone reaches the instance's limit, two share it, and together they also reach it.
func TestInstanceIsWorkConserving(t *testing.T) {
	for _, n := range []int{1, 2, 5} {
		on := instance(t, volume.InstanceConfig{Baseline: volume.Rate{IOPS: 6000}})
		volumes := make([]*volume.Queue, n)
		for i := range volumes {
			volumes[i] = volume.MustNew(volume.Config{Sustained: volume.Rate{IOPS: 16000}}, 1, on)
		}

		const requests = 60_000
		var issued vtime.Instant

		var operations []weighted
		for i := range requests {
			c := volumes[i%n].Submit(0, volume.Request{Op: volume.Write, Length: 4096})
			if i > n && c.Held != volume.InstanceIOPS {
				t.Fatalf("request %d waited for %v", i, c.Held)
			}
			issued = max(issued, c.Issued)
			operations = append(operations, weighted{c.Issued, 1})
		}

		t.Logf("%d volumes: %.1f a second", n, requests/issued.Seconds())
		if off := issued - vtime.At(requests*time.Second/6000); off < -2e6 || off > 1e6 {
			t.Errorf("%d volumes: the last of %d is issued at %v", n, requests, issued.Seconds())
		}

		if over := overshoot(operations, 6000); over > 6+float64(n) {
			t.Errorf("%d volumes: %.1f at once", n, over)
		}
	}
}

// One volume's backlog, promised far ahead, does not queue another volume's requests: 430 MB behind 48
// MB/s are issued over nine seconds, and the instance has headroom all the while.
func TestBacklogLeavesRoom(t *testing.T) {
	on := instance(t, volume.InstanceConfig{Baseline: volume.Rate{IOPS: 6000, Throughput: 100 * units.MBps}})
	slow := volume.MustNew(volume.Config{Name: "data", Sustained: volume.Rate{Throughput: 48 * units.MBps}, Operation: ssd.Operation}, 1, on)
	wal := volume.MustNew(volume.Config{Name: "wal", Sustained: volume.Rate{IOPS: 3000}}, 1, on)

	var last vtime.Instant
	for i := range units.Size(1640) {
		last = slow.Submit(0, volume.Request{Op: volume.Write, Offset: 2 * i * units.MiB, Length: 256 * units.KiB}).Issued
	}

	if s := last.Seconds(); s < 8.9 || s > 9 {
		t.Fatalf("the backlog is issued over %.3f s", s)
	}

	for now := vtime.Instant(0); now < last; now = now.Add(time.Millisecond) {
		c := wal.Submit(now, volume.Request{Op: volume.Write, Length: 4096})
		// At worst it meets one large request passing at the instance's rate: 2.6 ms.
		if wait := c.Issued.Sub(now); wait > 4*time.Millisecond {
			t.Fatalf("at %.3f s a write to the other volume waits %v for %v", now.Seconds(), wait, c.Held)
		}
	}
}

// The maximum lasts 30 minutes, then the baseline applies. After a day's rest the maximum lasts as long
// again.
func TestInstanceBurst(t *testing.T) {
	on := instance(t, volume.InstanceConfig{Baseline: volume.Rate{IOPS: 50}, Maximum: volume.Rate{IOPS: 200}})
	q := volume.MustNew(volume.Config{Sustained: volume.Rate{IOPS: 100_000}}, 1, on)
	drain := func(from vtime.Instant) (time.Duration, vtime.Instant) {
		// As many requests as pass in 30 minutes at the maximum, each submitted when the last one is
		// issued.
		now := from
		for {
			c := q.Submit(now, volume.Request{Op: volume.Write, Length: 4096})
			now = max(now, c.Issued)
			if c.Held == volume.InstanceCredits {
				return now.Sub(from), now
			}
		}
	}

	first, now := drain(0)
	if off := first - 30*time.Minute; off.Abs() > 2*time.Second {
		t.Errorf("the maximum lasts %v, want 30m", first)
	}

	start := now
	for range 3000 {
		now = max(now, q.Submit(now, volume.Request{Op: volume.Write, Length: 4096}).Issued)
	}

	if rate := 3000 / now.Sub(start).Seconds(); rate < 49.9 || rate > 50.1 {
		t.Errorf("%.1f a second after the burst, want the baseline's 50", rate)
	}

	if c, iops, throughput := on.Credits(now); c > .001 || !iops || throughput {
		t.Errorf("after the burst: %v left, %t, %t", c, iops, throughput)
	}

	// Half a day's rest gives half the burst.
	now = now.Add(11*time.Hour + 45*time.Minute)
	if c, _, _ := on.Credits(now); c < .499 || c > .501 {
		t.Errorf("credits after half of the rest: %v", c)
	}

	now = now.Add(11*time.Hour + 46*time.Minute)
	if again, _ := drain(now); (again - 30*time.Minute).Abs() > 2*time.Second {
		t.Errorf("a day later the maximum lasts %v, want 30m", again)
	}
}

// Requests promised further ahead than the calendar reaches are still within the limits, and do not
// delay what comes before them.
func TestFartherThanTheCalendar(t *testing.T) {
	on := instance(t, volume.InstanceConfig{Baseline: volume.Rate{IOPS: 1000}})
	slow := volume.MustNew(volume.Config{Name: "slow", Sustained: volume.Rate{IOPS: 1}}, 1, on)
	other := volume.MustNew(volume.Config{Name: "other", Sustained: volume.Rate{IOPS: 1}}, 1, on)
	var last vtime.Instant

	var issued []weighted
	for range 3000 { // 50 minutes
		for _, v := range []*volume.Queue{slow, other} {
			last = v.Submit(0, volume.Request{Op: volume.Write, Length: 4096}).Issued
			issued = append(issued, weighted{last, 1})
		}
	}

	if over := overshoot(issued, 1000); over > 4 {
		t.Errorf("%.1f at once", over)
	}

	quick := volume.MustNew(volume.Config{Name: "quick"}, 1, on)
	for now := vtime.Instant(0); now < vtime.At(2*time.Hour); now = now.Add(time.Minute) {
		c := quick.Submit(now, volume.Request{Op: volume.Write, Length: 4096})
		if wait := c.Issued.Sub(now); now < vtime.At(15*time.Minute) && wait > 3*time.Millisecond {
			t.Errorf("at %.0f s a write waits %v", now.Seconds(), wait)
		}
	}
}
