//go:build linux

package probe

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

// The program that sees who wakes whom is there while calls wait for long, and for a while after.
func TestWakers(t *testing.T) {
	p := started(t, Config{Slower: 20 * time.Millisecond})
	w, now := &p.wakers, Clock()
	if w.link == nil {
		t.Error("it was not attached at the start")
	}
	for _, x := range []struct {
		name     string
		after    time.Duration
		wanted   bool
		attached bool
	}{
		{"at the start", 0, false, true},
		{"after some time without a long wait", 2 * wakersFor, false, false},
		{"with a long wait", 3 * wakersFor, true, true},
		{"shortly after", 3*wakersFor + wakersFor/2, false, true},
		{"with another", 3*wakersFor + wakersFor/2, true, true},
		{"after the first's time", 4*wakersFor + wakersFor/4, false, true},
		{"after the other's", 5 * wakersFor, false, false},
	} {
		if err := w.look(now+x.after.Nanoseconds(), x.wanted); err != nil {
			t.Fatal(err)
		}
		if got := w.link != nil; got != x.attached {
			t.Errorf("%s: attached %v", x.name, got)
		}
	}
	if err := w.look(now, true); err != nil {
		t.Fatal(err)
	}
	p.Detach()
	if err := w.look(now, true); err != nil || w.link != nil {
		t.Errorf("attached without the other programs: %v", err)
	}
}

// A call that lasts is seen by when the calls under way began.
func TestOldCalls(t *testing.T) {
	w := wakers{slow: 20 * time.Millisecond, shift: 20}
	const now = 7_000_000_000
	for _, x := range []struct {
		name  string
		began []time.Duration // before now
		old   bool
	}{
		{"none", nil, false},
		{"young ones", []time.Duration{0, time.Millisecond, 9 * time.Millisecond}, false},
		{"one that may become slow", []time.Duration{0, 13 * time.Millisecond}, true},
		{"one of seconds", []time.Duration{3 * time.Second}, true},
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

// Long waits of calls are wanted, not those of the kernel's threads and not those for a processor.
func TestWantsWakers(t *testing.T) {
	w := wakers{slow: 20 * time.Millisecond}
	const long = int64(15 * time.Millisecond)
	for _, x := range []struct {
		wait events.Wait
		want bool
	}{
		{events.Wait{In: long}, true},
		{events.Wait{In: long / 2}, false},
		{events.Wait{In: long, Preempted: true}, false},
		{events.Wait{In: long, Kernel: true}, false},
	} {
		if got := w.wants([]events.Wait{x.wait}); got != x.want {
			t.Errorf("%+v: %v", x.wait, got)
		}
	}
}

// A call that has lasted for half of what makes it slow wakes the tracing process up, while the program that
// sees who wakes whom is not attached: it looks long before it would of its own accord.
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
	w.needed = 0 // by the start
	if err := w.look(Clock(), false); err != nil || w.link != nil {
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
	looks := 0
	if err := p.Run(ctx, func(*events.Batch) {
		switch looks++; looks {
		case 1: // it begins with one
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
