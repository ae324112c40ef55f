//go:build linux

package trace_test

import (
	"math"
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

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// The emulated volume records exactly when each request was at the device. A thread of this test
// writes directly to the device, one block at a time, next to a neighbour with 32 requests in
// flight. For nearly every write, the trace's device stages must contain that interval of exactly
// one request, within 5 %: on a busy machine the emulator itself is sometimes late, and answers
// before it counts the time. A trace with wrong stages would be wrong about most writes. (How much
// longer the stages are, because of the way to the emulator and back, depends on the machine's
// load; the log shows the median.)
func TestDeviceStages(t *testing.T) {
	e := emulate(t, "", 0)
	direct(t, e.device)
	const offset, length = 1 << 30, 8 << 10 // the neighbour does not use this range
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

	var all []answer
	behind := int64(math.MaxInt64) // difference between the events' clock and the disk's
	for _, a := range e.volume.answers() {
		behind = min(behind, a.seen-int64(a.now))
		if a.r.Op == volume.Write && int64(a.r.Offset) >= offset && int(a.r.Length) == length {
			all = append(all, a)
		}
	}

	// The emulator answers early to compensate for the time on the path, nearly all of which is Fixed.
	early := e.disk.Path().Fixed.Std() + 100*time.Microsecond
	w := chain.NewWindow(r.Report.Header)
	w.Add(r.Events)
	var longer []float64
	wrong := 0

	mine := <-tid
	for i := range r.Events.Calls {
		c := &r.Events.Calls[i]
		if int(c.TID) != mine {
			continue
		}

		from, to, sum := deviceStages(w.Explain(c))
		var inside []answer
		for _, a := range all {
			begin := int64(a.now) + behind
			if begin >= from && begin+int64(a.asked-a.asked/20-early) <= to { // within 5 %
				inside = append(inside, a)
			}
		}

		if len(inside) != 1 || sum < inside[0].asked*19/20-early {
			t.Logf("a write of %v spent %v at the device according to the trace, but the emulator had %+v in that time", time.Duration(c.Exit-c.Enter), sum, inside)
			wrong++
			continue
		}

		longer = append(longer, sum.Seconds()/inside[0].asked.Seconds()-1)
	}

	if len(longer) < enough {
		t.Fatalf("%d writes were traced", len(longer))
	}

	if wrong*20 > len(longer) {
		t.Errorf("for %d of %d writes, the trace and the emulator disagree about the time at the device", wrong, wrong+len(longer))
	}

	slices.Sort(longer)
	t.Logf("%d writes; the device stages are longer by %.2f %% (median)", len(longer), 100*longer[len(longer)/2])
}

// deviceStages returns the first and last time of a call at the device, and the total time there.
func deviceStages(x chain.Chain) (from, to int64, sum time.Duration) {
	for k := range x.Segments {
		s := &x.Segments[k]
		if s.Stage != chain.DeviceQueue && s.Stage != chain.DeviceOwn {
			continue
		}
		if sum == 0 {
			from = s.From
		}
		to = s.To
		sum += s.Took()
	}
	return from, to, sum
}

// writing writes one block after another until it is stopped.
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
