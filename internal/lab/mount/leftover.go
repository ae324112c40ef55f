//go:build linux

package mount

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"plimsoll/internal/base/shellword"
	"plimsoll/internal/lab/blockdev"
)

// A Leftover is a remnant of a lab that no state records any more.
type Leftover struct {
	What   string
	Remedy string // a command
}

// Leftovers finds loop devices and mounts of labs that no process serves and no state records,
// because the state was deleted or its folder unmounted. They are only reported, not removed: a lab
// in a container may keep its states elsewhere.
func Leftovers() ([]Leftover, error) {
	mounts, err := mounted()
	if err != nil {
		return nil, err
	}

	var out []Leftover
	made := blockdev.Made(Root)
	for _, device := range slices.Sorted(maps.Keys(made)) {
		// A recorded device is swept as usual, and one with a live server is not a leftover.
		if known(made[device]) || blockdev.Open(device) {
			continue
		}

		number, err := deviceNumber(device)
		if err != nil {
			return out, err
		}

		what := fmt.Sprintf("/dev/%s, which no process serves any more, is ", device)
		var of []Leftover
		for _, m := range mountsFrom(mounts, number) {
			var covered *coverError
			if err := m.cover(mounts); errors.As(err, &covered) {
				of = append(of, Leftover{what + "mounted at " + m.dir + ": " + covered.what, covered.command})
				continue
			}
			of = append(of, Leftover{what + "mounted at " + m.dir, "umount -l " + shellword.Quote(m.dir)})
		}

		for _, h := range holders(number) {
			of = append(of, Leftover{
				what + fmt.Sprintf("mounted at %s in the mount namespace of process %s (%s)", h.dir, h.pid, h.name),
				h.remedy(),
			})
		}

		if of == nil {
			of = []Leftover{{what + "left over", "losetup -d /dev/" + device}}
		}

		out = append(out, of...)
	}

	for _, m := range mounts {
		if m.fs == "fuse.plimsoll" && below(m.dir, Root) && !known(m.dir) {
			out = append(out, Leftover{"a file system of a lab daemon is mounted at " + m.dir,
				"umount -l " + shellword.Quote(m.dir)})
		}
	}

	return out, nil
}

// known reports whether a volume's folder belongs to a recorded state.
func known(folder string) bool {
	_, err := os.Stat(filepath.Join(filepath.Dir(folder), stateName))
	return !errors.Is(err, fs.ErrNotExist)
}
