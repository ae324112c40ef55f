//go:build linux

package disk

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/volume"
)

// A hand is a clock that only advances when a caller waits.
type hand struct {
	mu  sync.Mutex
	now vtime.Instant
}

func (h *hand) Now() vtime.Instant {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now
}

func (h *hand) Wait(until vtime.Instant) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = max(h.now, until)
}

func (h *hand) Close() {}

type fataler interface{ Fatal(...any) }

func newDisk(t fataler, cfg Config) (*Disk, *hand) {
	c := &hand{}
	h := &Host{clock: c}
	if cfg.Volume == nil {
		cfg.Volume = steady(0, time.Millisecond)
	}
	if cfg.Size == 0 {
		cfg.Size = units.MiB
	}
	d, err := h.Add(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return d, c
}

func steady(iops units.Frequency, takes time.Duration) volume.Volume {
	c := volume.Config{Name: "steady", Size: units.GiB, Sustained: volume.Rate{IOPS: iops}}
	for op := range c.Latency {
		c.Latency[op] = volume.Constant(units.Duration(takes))
	}
	return volume.MustNew(c, 1, nil)
}

// A request is answered when the volume would complete it: after 1 ms, or when the limit of 100
// IOPS allows.
func TestAnswersWhenTheVolumeWould(t *testing.T) {
	d, clock := newDisk(t, Config{Volume: steady(100, time.Millisecond)})
	p := make([]byte, 4096)
	for i := range 10 {
		if _, err := d.WriteAt(p, int64(i)*4096); err != nil {
			t.Fatal(err)
		}
	}

	if want := vtime.At(90*time.Millisecond + time.Millisecond); clock.now < want-vtime.At(time.Millisecond) || clock.now > want+vtime.At(10*time.Millisecond) {
		t.Errorf("10 writes at 100/s were done at %v", time.Duration(clock.now))
	}

	s := d.Stats()
	if s.Requests[volume.Write] != 10 || s.Bytes[volume.Write] != 40960 || s.Volume.Submitted[volume.Write] != 10 {
		t.Errorf("%+v", s)
	}

	if s.Saturated || s.LateMax > 0 {
		t.Errorf("a clock that is never late was late: %+v", s)
	}

	// Without pacing, no request waits and none counts as late.
	at := clock.now
	d.Pace(false, nil)
	if _, err := d.WriteAt(p, 0); err != nil || clock.now != at {
		t.Errorf("an unpaced write waited until %v: %v", clock.now, err)
	}

	d.Pace(true, steady(0, 5*time.Millisecond))
	if _, err := d.ReadAt(p, 0); err != nil || clock.now.Sub(at) != 5*time.Millisecond {
		t.Errorf("a new volume of 5 ms answered after %v: %v", clock.now.Sub(at), err)
	}
}

// The time on the path is subtracted from the wait. If a request takes less time than the path, it is
// late by the difference.
func TestPathIsSubtracted(t *testing.T) {
	d, clock := newDisk(t, Config{Volume: steady(0, time.Millisecond)})
	d.SetPath(Path{Fixed: units.Duration(99 * time.Microsecond), PerMiB: units.Duration(256 * time.Microsecond)})
	if err := d.Flush(); err != nil || clock.now != vtime.At(901*time.Microsecond) {
		t.Errorf("answered at %v: %v", time.Duration(clock.now), err)
	}

	d.Pace(true, steady(0, 40*time.Microsecond))
	if err := d.Flush(); err != nil {
		t.Fatal(err)
	}

	if s := d.Stats(); s.LateMax != units.Duration(59*time.Microsecond) {
		t.Errorf("late by %v", s.LateMax)
	}

	at := clock.now
	d.Pace(true, steady(0, time.Millisecond))
	if _, err := d.ReadAt(make([]byte, 4096), 0); err != nil || clock.now.Sub(at) != 900*time.Microsecond {
		t.Errorf("4 KiB were answered after %v: %v", clock.now.Sub(at), err)
	}

	// A trial uses another volume, and leaves no trace.
	at = clock.now
	before := d.Path()
	during, err := d.Trial(steady(0, 5*time.Millisecond), d.Flush)
	if during.Requests[volume.Flush] != 1 {
		t.Errorf("during the trial: %+v", during)
	}

	if s := d.Stats(); err != nil || clock.now.Sub(at) != 5*time.Millisecond || d.Path() != before || s.Requests[volume.Flush] != 0 || s.Volume.Submitted[volume.Flush] != 0 {
		t.Errorf("a trial of 5 ms took %v: %v, %+v", clock.now.Sub(at), err, s)
	}
}

func TestDiscard(t *testing.T) {
	d, _ := newDisk(t, Config{Size: units.GiB, PowerLoss: true, VolatileCache: true})
	defer d.close()
	if _, err := d.WriteAt(bytes.Repeat([]byte{1}, 8192), 4096); err != nil {
		t.Fatal(err)
	}

	if err := d.Discard(8192, int64(units.GiB)-8192); err != nil {
		t.Fatal(err)
	}

	// Replaying the kept part of the write must not bring back what was discarded after it.
	if _, err := d.Cut(Cut{}); err != nil {
		t.Fatal(err)
	}

	d.Revive()
	got := make([]byte, 8192)
	if _, err := d.ReadAt(got, 4096); err != nil || got[0] != 1 || got[4096] != 0 {
		t.Errorf("read %d and %d: %v", got[0], got[4096], err)
	}
}

// A write that failed for lack of space is not in the log, so a power loss cannot bring it back.
func TestNoRoomIsNotLogged(t *testing.T) {
	d, _ := newDisk(t, Config{PowerLoss: true, VolatileCache: true})
	defer d.close()
	d.img.(*memory).most = 0
	if _, err := d.WriteAt([]byte{1}, 0); !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	if r, err := d.Cut(Cut{}); err != nil || r != (CutReport{}) {
		t.Errorf("%+v, %v", r, err)
	}
}

// The margin follows the lateness of sleeps, within its bounds.
func TestLearn(t *testing.T) {
	for late, want := range map[time.Duration]time.Duration{0: early, 20 * time.Microsecond: 20 * time.Microsecond, time.Second: spinMost} {
		m := spinMost / 2
		for range 2000 {
			m = learn(m, late)
		}
		if d := m - want; d < -time.Microsecond || d > time.Microsecond {
			t.Errorf("sleeps late by %v make a margin of %v", late, m)
		}
	}
}

func TestBeyondTheEnd(t *testing.T) {
	d, _ := newDisk(t, Config{Size: 5000}) // rounded up to 8,192
	if d.Size() != 8192 {
		t.Errorf("size %d", d.Size())
	}

	p := make([]byte, 4096)
	for _, off := range []int64{-1, 4097, 8192, 1 << 62} {
		if _, err := d.WriteAt(p, off); !errors.Is(err, syscall.EINVAL) {
			t.Errorf("a write at %d: %v", off, err)
		}
		if _, err := d.ReadAt(p, off); !errors.Is(err, syscall.EINVAL) {
			t.Errorf("a read at %d: %v", off, err)
		}
		if err := d.Discard(off, 4096); !errors.Is(err, syscall.EINVAL) {
			t.Errorf("a discard at %d: %v", off, err)
		}
	}
}

// A full backing store refuses writes and keeps its existing data.
func TestNoRoom(t *testing.T) {
	img, err := newMemory(units.MiB, 2*chunkBytes)
	if err != nil {
		t.Fatal(err)
	}

	defer img.close()
	p := bytes.Repeat([]byte{7}, chunkBytes)
	for i := range int64(3) {
		if err := img.write(p, i*chunkBytes); (err != nil) != (i == 2) {
			t.Errorf("chunk %d: %v", i, err)
		}
	}

	if err := img.discard(0, chunkBytes); err != nil {
		t.Fatal(err)
	}

	if err := img.write(p, 2*chunkBytes); err != nil {
		t.Errorf("after space was freed: %v", err)
	}

	got := make([]byte, chunkBytes)
	if err := img.read(got, 0); err != nil || !bytes.Equal(got, make([]byte, chunkBytes)) {
		t.Errorf("the discarded range is not zero: %v", err)
	}
}

func TestFileImage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "image")
	d, _ := newDisk(t, Config{File: path, Size: units.MiB})
	want := []byte("plimsoll")

	if _, err := d.WriteAt(want, 4096); err != nil {
		t.Fatal(err)
	}

	got := make([]byte, len(want))
	if _, err := d.ReadAt(got, 4096); err != nil || !bytes.Equal(got, want) {
		t.Errorf("read %q: %v", got, err)
	}

	if _, err := d.host.Add(Config{Name: "second", File: path, Size: units.MiB, Volume: steady(0, 0)}); err == nil {
		t.Error("an existing file was accepted")
	}

	if err := d.host.Close(); err != nil {
		t.Fatal(err)
	}

	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the image's file still exists: %v", err)
	}
}

// A disk that answers late reports it and counts as saturated.
func TestSaturated(t *testing.T) {
	var c counts
	for i := range 1000 {
		late := time.Duration(0)
		if i%10 == 0 {
			late = time.Millisecond
		}
		c.add(vtime.At(time.Duration(i)*10*time.Millisecond), volume.Write, 4096, time.Millisecond, late)
	}

	d, _ := newDisk(t, Config{})
	d.counts.mu.Lock()
	d.counts.hdr, d.counts.total, d.counts.late, d.counts.worst, d.counts.spanAll, d.counts.spanLate = c.hdr, c.total, c.late, c.worst, c.spanAll, c.spanLate
	d.counts.mu.Unlock()

	if s := d.Stats(); !s.Saturated || s.Late != 0.1 {
		t.Errorf("a tenth was late: %+v", s)
	}
}

func TestWakesInOrder(t *testing.T) {
	c, err := newTicker()
	if err != nil {
		t.Fatal(err)
	}

	defer c.Close()
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			at := c.Now().Add(time.Duration(i%20) * 100 * time.Microsecond)
			c.Wait(at)
			if c.Now() < at.Add(-early) {
				t.Errorf("woken %v too early", at.Sub(c.Now()))
			}
		})
	}

	wg.Wait()
}

// Closing wakes the waiters.
func TestCloseWakes(t *testing.T) {
	c, err := newTicker()
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { c.Wait(vtime.At(time.Hour)); close(done) }()
	time.Sleep(time.Millisecond)
	c.Close()
	<-done
	c.Wait(vtime.At(time.Hour)) // returns immediately
}

func BenchmarkWrite(b *testing.B) {
	h, err := NewHost(Options{})
	if err != nil {
		b.Fatal(err)
	}

	defer h.Close()
	d, err := h.Add(Config{Name: "data", Size: 64 * units.MiB, Volume: steady(0, 0)})
	if err != nil {
		b.Fatal(err)
	}

	p := make([]byte, 4096)
	b.SetBytes(4096)

	for i := range int64(b.N) {
		if _, err := d.WriteAt(p, i%8192*4096); err != nil {
			b.Fatal(err)
		}
	}
}
