//go:build linux

package blockdev

import (
	"fmt"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/base/units"
	"plimsoll/internal/lab/disk"
	"plimsoll/internal/model/volume"
)

// DefaultPath is the time for a 4 KiB request to pass through the loop device and FUSE, and back to
// the waiting process, on two virtual cores of a Xeon with Linux 6.18. It is subtracted until
// [Attach] has measured the path.
const DefaultPath = units.Duration(60 * time.Microsecond)

// The path is measured with reads of a small and a large size, one at a time like a database's log
// writes, from a volume with a latency of 1 ms: long enough for CPUs to go to sleep, as they do
// with a rented volume.
const (
	pathTakes = time.Millisecond
	pathReads = 150 // of each size
	pathSmall = 4 * units.KiB
	pathLarge = 128 * units.KiB
	// an upper bound, because queueing on a busy machine is not part of the path
	pathMost = 300 * time.Microsecond
)

// measurePath makes the disk answer early by the time that requests spend on the path.
func (v *Device) measurePath(emulated *disk.Disk) error {
	if emulated.Size() < pathLarge {
		return nil
	}

	dev, err := os.OpenFile(v.Path(), os.O_RDONLY|unix.O_DIRECT|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}

	defer dev.Close()

	// Direct I/O needs page-aligned memory.
	buf, err := unix.Mmap(-1, 0, int(pathLarge), unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return err
	}

	defer func() { _ = unix.Munmap(buf) }()
	cfg := volume.Config{Name: "path", Size: emulated.Size()}
	cfg.Latency[volume.Read] = volume.Constant(units.Duration(pathTakes))

	trial, err := volume.New(cfg, 1, nil)
	if err != nil {
		return err
	}

	var took [2]time.Duration
	during, err := emulated.Trial(trial, func() (err error) {
		for i, n := range []units.Size{pathSmall, pathLarge} {
			if took[i], err = median(dev, buf[:n]); err != nil {
				return fmt.Errorf("measuring the path to %s: %w", v.Path(), err)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}

	path := pathOf(took[0]-pathTakes, took[1]-pathTakes)

	// The disk's own lateness during the trial is already part of the measured path. Without this
	// it would be counted twice.
	path.Wake = min(during.LateP50, path.Fixed)
	emulated.SetPath(path)

	return nil
}

// pathOf fits a line through the path times of a small and a large request, within reasonable
// bounds.
func pathOf(small, large time.Duration) disk.Path {
	small = min(max(small, 0), pathMost)
	large = min(max(large, small), small+pathMost)
	perMiB := float64(large-small) * float64(units.MiB) / float64(pathLarge-pathSmall)
	fixed := float64(small) - perMiB*float64(pathSmall)/float64(units.MiB)
	return disk.Path{Fixed: units.Duration(max(fixed, 0)), PerMiB: units.Duration(perMiB)}
}

// median returns the median duration of a read. The median ignores the few reads that the scheduler
// delayed.
func median(dev *os.File, p []byte) (time.Duration, error) {
	took := make([]time.Duration, pathReads)
	for i := range took {
		began := time.Now()
		if _, err := unix.Pread(int(dev.Fd()), p, 0); err != nil {
			return 0, err
		}
		took[i] = time.Since(began)
	}
	slices.Sort(took)
	return took[len(took)/2], nil
}
