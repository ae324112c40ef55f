package host

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// statfs returns the space of the file system at a path, whose blocks have f_frsize bytes
// (statfs(2)).
func statfs(path string) (space, error) {
	var st unix.Statfs_t
	for {
		err := unix.Statfs(path, &st)
		if err == nil {
			break
		}
		if err != unix.EINTR {
			return space{}, fmt.Errorf("statfs: %w", err)
		}
	}

	unit := float64(st.Frsize)
	if unit <= 0 {
		unit = float64(st.Bsize)
	}

	return space{size: float64(st.Blocks) * unit, free: float64(st.Bfree) * unit,
		available: float64(st.Bavail) * unit,
		files:     float64(st.Files), filesFree: float64(st.Ffree)}, nil
}
