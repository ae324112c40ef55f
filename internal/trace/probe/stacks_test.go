//go:build linux

package probe

import (
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"
)

// A stack that the programs know is the one that the kernel reads.
func TestKnownStacks(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("stacks are kept on x86 only")
	}

	p := started(t, Config{Slower: 200 * time.Microsecond, checkStacks: true})
	if err := p.Watch([]uint32{uint32(os.Getpid())}, nil, nil); err != nil {
		t.Fatal(err)
	}

	// Three threads that write, sync and wait for each other's syncs, in files that grow.
	const threads, most = 3, 30 * time.Second
	var all sync.WaitGroup
	count := func(name string) (n uint64) {
		if err := p.coll.Variables[name].Get(&n); err != nil {
			t.Error(err)
		}
		return n
	}

	dir, until := t.TempDir(), time.Now().Add(most)
	for i := range threads {
		all.Go(func() {
			f, err := os.Create(filepath.Join(dir, string(rune('a'+i))))
			if err != nil {
				t.Error(err)
				return
			}

			defer f.Close()
			for count("known_right") < 1000 && count("known_wrong") == 0 && time.Now().Before(until) {
				_, err := f.Write(make([]byte, 4096))
				if err == nil {
					err = f.Sync()
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}

	all.Wait()
	right, wrong := count("known_right"), count("known_wrong")
	t.Logf("%d stacks were known", right)

	switch {
	case wrong > 0:
		t.Errorf("%d known stacks, and %d that were others", right, wrong)
	case right == 0:
		t.Skip("no thread waited for long enough where one did before")
	}
}
