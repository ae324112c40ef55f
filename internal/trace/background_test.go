//go:build linux

package trace

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/trace/chain"
	"plimsoll/internal/trace/events"
)

// The calls of a process that no client waits for are only counted, and the trace that is saved remembers the
// process.
func TestBackgroundIsLeftOut(t *testing.T) {
	background := exec.Command("cat") // waits for its input
	in, err := background.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := background.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = background.Wait()
	})

	s := session{tally: chain.NewTally(), since: map[uint32]int64{}, foreign: map[uint32]bool{}, groups: map[uint32]bool{},
		background: map[uint32]bool{}, rescanAll: make(chan struct{}, 1),
		opt: Options{Keep: true, Background: func(line string) bool { return strings.HasPrefix(line, "cat") }}}
	s.window = chain.NewWindow(&s.header)

	pid := uint32(background.Process.Pid)
	for i, from := range []uint32{pid, uint32(os.Getpid()), pid} {
		at := int64(1000 * (i + 1))
		s.add(&events.Batch{Calls: []events.Call{{Kind: events.Fsync, Task: events.Task{PID: from}, Enter: at, Exit: at + 500}}})
	}
	s.explain(10_000)

	if r := s.tally.Report(&s.header); r.Slow != 1 || !slices.Equal(r.Notes, []string{chain.Unwaited(2, 1000)}) {
		t.Errorf("%d explained, notes %q", r.Slow, r.Notes)
	}
	if !slices.Equal(s.header.Background, []uint32{pid}) {
		t.Errorf("the header has %v", s.header.Background)
	}
	if r := chain.Replay(&s.header, &s.keep); r.Slow != 1 || !slices.Contains(r.Notes, chain.Unwaited(2, 1000)) {
		t.Errorf("replayed: %d slow calls, %q", r.Slow, r.Notes)
	}
}
