//go:build linux

package tracer

import (
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"
)

// The stacks that the programs have cached are those that the kernel reads.
func TestKnownStacks(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("stacks are cached on x86 only")
	}

	p := started(t, Config{Slower: 200 * time.Microsecond, checkStacks: true})
	if err := p.Watch([]uint32{uint32(os.Getpid())}, nil, nil); err != nil {
		t.Fatal(err)
	}

	// Three threads write, sync and wait for each other's syncs, in growing files.
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
	t.Logf("%d stacks were cached", right)

	switch {
	case wrong > 0:
		t.Errorf("%d cached stacks were right, %d were wrong", right, wrong)
	case right == 0:
		t.Skip("no thread waited long enough at the same place twice")
	}
}
