package host

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

const mountinfo = `22 27 0:21 / /proc rw - proc proc rw
27 1 259:1 / / rw,relatime - ext4 /dev/nvme0n1p1 rw
28 27 259:2 / /var/lib/my\040db rw,noatime - xfs /dev/nvme1n1 rw
29 27 259:2 /backup /backup rw,noatime - xfs /dev/nvme1n1 rw
30 27 0:40 / /tank rw - zfs tank rw
`

// Each file system on a device is queried once every ten seconds, and one that does not answer blocks
// nothing.
func TestSpace(t *testing.T) {
	root := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		tree(t, root, 0)
		lay(t, root, map[string]string{"proc/self/mountinfo": mountinfo})
		s := newSampler(root, nil)
		asked := 0
		hangs := make(chan bool)
		s.spaces.statfs = func(path string) (space, error) {
			if path == "/" {
				return space{}, errors.New("permission denied")
			}
			if asked++; asked == 3 {
				<-hangs
			}
			return space{size: 100e9, free: 60e9, available: 50e9 - float64(asked), files: 1000, filesFree: 900}, nil
		}

		var got []string
		for second := range 36 {
			if second == 30 {
				close(hangs)
				synctest.Wait()
			}

			before := time.Now()
			if err := s.sample(before); err != nil {
				t.Fatal(err)
			}

			for _, c := range s.batch.Columns {
				if c.Labels.Get("__name__") == "node_filesystem_avail_bytes" {
					got = append(got, fmt.Sprintf("%ds %s %s %.0f", second, c.Labels.Get("device"), c.Labels.Get("mountpoint"), c.Values[0]))
				}
			}

			time.Sleep(time.Second - time.Since(before))
			synctest.Wait()
		}

		want := "0s /dev/nvme1n1 /var/lib/my db 49999999999\n10s /dev/nvme1n1 /var/lib/my db 49999999998\n" +
			"30s /dev/nvme1n1 /var/lib/my db 49999999997\n31s /dev/nvme1n1 /var/lib/my db 49999999996"
		if text := strings.Join(got, "\n"); text != want {
			t.Errorf("got\n%s\nwant\n%s", text, want)
		}

		if n := strings.Count(strings.Join(s.absent, "\n"), "space of /: permission denied"); n != 1 {
			t.Errorf("reported %d times: %q", n, s.absent)
		}
	})
}

// The real file systems, if there are any on devices.
func TestSpaceOfThisMachine(t *testing.T) {
	if runtime.GOOS != "linux" || len(onceEach(mountsOf("/"))) == 0 {
		t.Skip("no file system on a device here")
	}

	if _, err := os.Stat("/proc/diskstats"); err != nil {
		t.Skip("no readable /proc/diskstats here:", err)
	}

	src, err := Open("")
	if err != nil {
		t.Fatal(err)
	}

	m := recording.NewMemory(recording.MemoryOptions{})
	if err := src.Read(t.Context(), m, source.Options{For: 1, Want: func(name string) bool { return strings.HasPrefix(name, "node_filesystem_") }}); err != nil {
		t.Fatal(err)
	}

	size, available := values(t, m, "node_filesystem_size_bytes"), values(t, m, "node_filesystem_avail_bytes")
	if len(size) == 0 || len(size) != len(available) || !(size[0] > available[0]) {
		t.Errorf("sizes %v, available %v", size, available)
	}
}
