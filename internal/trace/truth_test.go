//go:build linux

package trace_test

import (
	"os"
	"runtime"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/model/volume"
	"plimsoll/internal/trace/chain"
	"plimsoll/internal/trace/target"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// The emulated volume knows how long each request was at the device: from its submission to its
// completion. A thread of this test writes directly to the device, one block at a time, beside a
// neighbour with 32 in flight; the trace's device stages of each write must be that time.
func TestDeviceStages(t *testing.T) {
	e := emulate(t, "", 0)
	direct(t, e.device)
	const offset, length = 1 << 30, 8 << 10 // which the neighbour does not use
	stop, gone := make(chan struct{}), make(chan error, 1)
	tid := make(chan int, 1)
	go func() {
		runtime.LockOSThread()
		tid <- unix.Gettid()
		gone <- writing(e.device, offset, length, stop)
	}()
	r := traced(t, target.Choice{PID: os.Getpid()}, 10*time.Millisecond, 0, true)
	close(stop)
	if err := <-gone; err != nil {
		t.Fatal(err)
	}
	w := chain.NewWindow(r.Report.Header)
	w.Add(r.Events)
	var stages []time.Duration
	mine := <-tid
	for i := range r.Events.Calls {
		c := &r.Events.Calls[i]
		if int(c.TID) != mine {
			continue
		}
		x := w.Explain(c)
		var sum time.Duration
		for k := range x.Segments {
			if s := x.Segments[k].Stage; s == chain.DeviceQueue || s == chain.DeviceOwn {
				sum += x.Segments[k].Took()
			}
		}
		stages = append(stages, sum)
	}
	var asked []time.Duration
	for _, a := range e.volume.answers() {
		if a.r.Op == volume.Write && int64(a.r.Offset) >= offset && int(a.r.Length) == length && a.asked > 11*time.Millisecond {
			asked = append(asked, a.asked)
		}
	}
	compare(t, stages, asked, e.disk.Stats().Saturated)
}

// writing writes one block after the other until it is stopped.
func writing(device string, offset int64, length int, stop <-chan struct{}) error {
	f, err := os.OpenFile(device, os.O_RDWR|unix.O_DIRECT, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	memory, err := unix.Mmap(-1, 0, length, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return err
	}
	for i := 0; ; i++ {
		select {
		case <-stop:
			return nil
		default:
		}
		if _, err := f.WriteAt(memory, offset+int64(i%1000*length)); err != nil {
			return err
		}
	}
}

// compare matches each stage with the nearest of the emulator's times in order, and checks the
// median of their errors. The thread began before the trace, so the emulator has more at its start.
func compare(t *testing.T, stages, asked []time.Duration, saturated bool) {
	t.Helper()
	if saturated && len(asked) < len(stages) {
		t.Skip("the machine was too busy to emulate the volume: writes were slow that it meant to answer at once")
	}
	if len(stages) < 5 || len(asked) < len(stages) {
		t.Fatalf("%d writes were traced, %d were emulated", len(stages), len(asked))
	}
	best, bestAt := 1e9, 0
	for at := 0; at+len(stages) <= len(asked); at++ {
		if e := median(stages, asked[at:]); e < best {
			best, bestAt = e, at
		}
	}
	t.Logf("%d writes, the emulator's from %d of %d on: median error of the device stages %.2f %%", len(stages), bestAt, len(asked), 100*best)
	if best > 0.05 && saturated {
		t.Skip("the machine was too busy to emulate the volume: it answered later than it said")
	}
	if best > 0.05 {
		t.Errorf("median error %.1f %%, want under 5: %v, %v", 100*best, stages, asked[bestAt:bestAt+len(stages)])
	}
}

func median(stages, asked []time.Duration) float64 {
	var all []float64
	for i, s := range stages {
		e := float64(s)/float64(asked[i]) - 1
		all = append(all, max(e, -e))
	}
	slices.Sort(all)
	return all[len(all)/2]
}
