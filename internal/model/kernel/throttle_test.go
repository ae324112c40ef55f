package kernel

import (
	"testing"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/volume"
)

// throttling writes a file of 1 GiB with an fdatasync, with a read every so often. It returns the
// maximum number of buffered writes in flight in the last three seconds, and the slowest read of that
// time.
func throttling(t *testing.T, cfg Config, reads time.Duration) (most int, slowest time.Duration) {
	t.Helper()
	var clock vtime.Clock
	h := NewHost(cfg, &clock, 1)
	d := h.Attach("data", slow(t, 128))

	f := h.Create("f", d, units.GiB)
	for off := units.Size(0); off < units.GiB; off += 512 * units.KiB {
		f.Write(off, 256*units.KiB)
	}

	f.Sync(vtime.HandlerFunc(func(vtime.Instant, uint64) {}), 0)
	var look vtime.HandlerFunc
	look = func(now vtime.Instant, _ uint64) {
		if now > vtime.At(5*time.Second) {
			most = max(most, d.throttle.flight)
		}
		clock.After(time.Millisecond, look, 0)
	}

	look(0, 0)
	var read vtime.HandlerFunc
	read = func(now vtime.Instant, _ uint64) {
		c := d.Do(volume.Request{Op: volume.Read, Offset: 20 * units.GiB, Length: 32 * units.KiB})
		if now > vtime.At(5*time.Second) {
			slowest = max(slowest, c.Done.Sub(now))
		}
		clock.After(reads, read, 0)
	}

	if reads > 0 {
		read(0, 0)
	}

	clock.Run(vtime.At(8 * time.Second))
	return most, slowest
}

// While nothing is read, the throttle opens to three quarters of the queue. If reads take longer than
// the target, it closes to one write at a time. Without it, the whole queue fills, and reads wait
// behind it.
func TestThrottle(t *testing.T) {
	on := Defaults()
	if most, _ := throttling(t, on, 0); most != 96 {
		t.Errorf("%d writes in flight while nothing is read: not 3/4 of 128", most)
	}

	most, slowest := throttling(t, on, 10*time.Millisecond)
	if most > 4 || slowest > 30*time.Millisecond {
		t.Errorf("%d writes in flight beside reads, which took up to %v", most, slowest)
	}

	off := on
	off.WbtLatUsec = 0
	if _, slowest := throttling(t, off, 10*time.Millisecond); slowest < 400*time.Millisecond {
		t.Errorf("without it, reads took no longer than %v", slowest)
	}

	bfq := on
	bfq.Scheduler = BFQ
	if _, slowest := throttling(t, bfq, 10*time.Millisecond); slowest < 400*time.Millisecond {
		t.Errorf("bfq turns it off, and yet reads took no longer than %v", slowest)
	}
}

// The limits of each step are the kernel's.
func TestThrottleSteps(t *testing.T) {
	for step, want := range map[int][3]int{
		0: {4, 8, 16}, 1: {2, 4, 8}, 2: {1, 2, 4}, 3: {1, 2, 2}, 4: {1, 1, 1},
		-1: {8, 16, 31}, -2: {16, 31, 61}, -3: {24, 48, 96}, -4: {24, 48, 96},
	} {
		x := throttle{queue: 128, step: step}
		if x.scale(); x.depth != want {
			t.Errorf("step %d: %v, want %v", step, x.depth, want)
		}
	}
}

// On ext4, a commit waits for up to 8 MiB that another file writes to new blocks. On XFS, it waits for
// what is in flight.
func TestCommitBehindNewBlocks(t *testing.T) {
	longest := func(fs FileSystem) (worst time.Duration) {
		var clock vtime.Clock
		cfg := Defaults()
		cfg.FileSystem, cfg.WritebackDepth = fs, 1
		h := NewHost(cfg, &clock, 1)
		d := h.Attach("data", slow(t, 128))
		f, log := h.Create("f", d, units.GiB), h.Create("log", d, units.GiB)
		f.Write(0, 256*units.MiB)
		f.Sync(vtime.HandlerFunc(func(vtime.Instant, uint64) {}), 0)
		var commit vtime.HandlerFunc
		commit = func(now vtime.Instant, _ uint64) {
			if s := log.LastSync(); now < vtime.At(5*time.Second) {
				worst = max(worst, s.Done.Sub(s.Submitted))
			}
			log.Append(4 * units.KiB)
			log.Sync(commit, 0)
		}

		commit(0, 0)
		clock.Run(vtime.At(6 * time.Second))
		return worst
	}

	if d := longest(Ext4); d < 100*time.Millisecond || d > 500*time.Millisecond {
		t.Errorf("ext4: up to %v, not the time of 8 MiB at 48 MB/s", d)
	}

	if d := longest(XFS); d > 50*time.Millisecond {
		t.Errorf("xfs: up to %v", d)
	}
}

// On XFS, a writer waits for the file's readers, and they wait for the writer.
func TestReadersAndWriters(t *testing.T) {
	for fs, want := range map[FileSystem]vtime.Instant{XFS: 700, Ext4: 0} {
		var clock vtime.Clock
		cfg := Defaults()
		cfg.FileSystem = fs
		h := NewHost(cfg, &clock, 1)
		f := h.Create("f", h.Attach("data", slow(t, 128)), units.GiB)
		f.Read(700)
		if at := f.Writable(); at != want {
			t.Errorf("%s: writable at %d, not %d", fs, at, want)
		}
		if done := f.Read(100); done != 100+want {
			t.Errorf("%s: read at %d, not %d", fs, done, 100+want)
		}
	}
}
