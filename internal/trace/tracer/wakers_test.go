//go:build linux

package tracer

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/trace/events"
)

// The wakeup program is attached while calls last, and for a while after. Time during which all
// programs are detached does not count.
func TestWakers(t *testing.T) {
	p := started(t, Config{Slower: 20 * time.Millisecond})
	w, now := &p.wakers, Clock()
	if w.link == nil {
		t.Error("it was not attached at the start")
	}

	at := func(d time.Duration) int64 { return now + d.Nanoseconds() }
	for _, x := range []struct {
		name     string
		after    time.Duration
		lasted   int64
		attached bool
	}{
		{"at the start", 0, 0, true},
		{"after a while without a call that lasts", 2 * wakersFor, 0, false},
		{"while one lasts", 3 * wakersFor, at(3 * wakersFor), true},
		{"shortly after", 3*wakersFor + wakersFor/2, at(3 * wakersFor), true},
		{"another one", 3*wakersFor + wakersFor/2, at(3*wakersFor + wakersFor/2), true},
		{"after the first one expired", 4*wakersFor + wakersFor/4, 0, true},
		{"after the other one expired", 5 * wakersFor, 0, false},
	} {
		if err := w.update(at(x.after), x.lasted); err != nil {
			t.Fatal(err)
		}
		if got := w.link != nil; got != x.attached {
			t.Errorf("%s: attached %v", x.name, got)
		}
	}

	last := at(10 * wakersFor)
	if err := w.update(last, last); err != nil {
		t.Fatal(err)
	}

	p.Detach()
	if err := w.update(last, last); err != nil || w.link != nil {
		t.Errorf("attached without the other programs: %v", err)
	}

	if err := w.progress.Set(uint32(1)); err != nil { // a call was in progress
		t.Fatal(err)
	}

	if w.lasted(last) != 0 {
		t.Error("a call seems to last while the programs are detached")
	}

	for _, x := range []struct {
		name      string
		off, left time.Duration
		attached  bool
	}{
		{"before it expires", 20 * wakersFor, wakersFor / 2, true},
		{"after it expired", 30 * wakersFor, -time.Second, false},
	} {
		w.needed = last - (wakersFor - x.left).Nanoseconds()
		if err := errors.Join(w.allow(last, false), w.allow(last+x.off.Nanoseconds(), true)); err != nil {
			t.Fatal(err)
		}
		if got := w.link != nil; got != x.attached {
			t.Errorf("detached for %v, %s: attached %v", x.off, x.name, got)
		}
	}
}

// A call that lasts is recognized by when the calls in progress began.
func TestOldCalls(t *testing.T) {
	w := wakers{slow: 20 * time.Millisecond, shift: 20}
	const now = 7_000_000_000
	for _, x := range []struct {
		name  string
		began []time.Duration // before now
		old   bool
	}{
		{"none", nil, false},
		{"young calls", []time.Duration{0, time.Millisecond, 9 * time.Millisecond}, false},
		{"one call that may become slow", []time.Duration{0, 13 * time.Millisecond}, true},
		{"one call of seconds", []time.Duration{3 * time.Second}, true},
	} {
		var began [spans]uint32
		for _, d := range x.began {
			began[(now-d.Nanoseconds())>>w.shift&(spans-1)]++
		}
		if got := w.old(now, uint32(len(x.began)), &began); got != x.old {
			t.Errorf("%s: %v", x.name, got)
		}
	}
}

// A call that has reached half the threshold wakes the tracing process while the wakeup program is
// detached: the process polls long before its next scheduled poll.
func TestWokenUp(t *testing.T) {
	p := started(t, Config{Slower: 2})
	p.every = time.Hour
	dir := t.TempDir()
	var st unix.Stat_t

	if err := unix.Stat(dir, &st); err != nil {
		t.Fatal(err)
	}

	dev := unix.Major(st.Dev)<<20 | unix.Minor(st.Dev)
	if err := p.Watch([]uint32{uint32(os.Getpid())}, []uint32{dev}, []uint32{dev}); err != nil {
		t.Fatal(err)
	}

	w := &p.wakers
	w.needed = 0 // Start set it
	if err := w.update(Clock(), 0); err != nil || w.link != nil {
		t.Fatal("it is attached: ", err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	begin, failed := make(chan struct{}), make(chan error, 1)
	go func() {
		<-begin
		f, err := os.Create(filepath.Join(dir, "traced"))
		if err != nil {
			failed <- err
			return
		}
		for ctx.Err() == nil && err == nil {
			_, err1 := f.WriteString("x")
			err = errors.Join(err1, f.Sync())
		}
		failed <- errors.Join(err, f.Close())
	}()

	polls := 0
	if err := p.Run(ctx, func(*events.Batch) {
		switch polls++; polls {
		case 1: // Run polls when it starts
			close(begin)
		case 2:
			cancel()
		}
	}); err != nil {
		t.Fatal(err)
	}

	if err := <-failed; err != nil {
		t.Fatal(err)
	}
}
