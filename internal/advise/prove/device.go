package prove

import (
	"cmp"
	"fmt"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// chooseDevices chooses the device that each side's figures are about: the one that bears the
// engine's files, where the recordings say which that is. The busiest one need not be: the disk
// below an emulated volume moves the same bytes again, and recordings and copies are written to some
// disk, too. Where only one side knows it, the other is judged by the same device. Where neither
// does and the busiest ones differ, both are judged by a device that was busy in both, if there is
// one, and the result says that it is not sure.
func chooseDevices(a, b *side) (unsure string) {
	a.device, b.device = a.c.FilesDevice(), b.c.FilesDevice()
	before, after := movedShares(a.c), movedShares(b.c)
	for _, x := range []struct {
		known, not *side
		moved      map[string]float64
	}{{a, b, after}, {b, a, before}} {
		if x.known.device != "" && x.not.device == "" {
			if _, has := x.moved[x.known.device]; has {
				x.not.device = x.known.device
				return fmt.Sprintf("which device bears the engine's files is known only %s: %s is taken for both",
					x.known.word, x.known.device)
			}
		}
	}

	x, y := devices(before, after)
	known := a.device != "" || b.device != ""
	a.device, b.device = cmp.Or(a.device, x), cmp.Or(b.device, y)

	if x, y = busiest(before), busiest(after); !known && x != y && a.device == b.device {
		return fmt.Sprintf("which device bears the engine's files is not known: %s moved the most before, %s after; the device's figures are those of %s in both",
			x, y, a.device)
	}

	return ""
}

// A device must have moved as much of all bytes in both recordings to be taken for the same database's
// (assumed). What it moved less in one of them may be the change, or its data went elsewhere.
const sameDevice = 0.2

// devices returns the devices that the figures are about where the engine's files are not known, of
// each one's share of the bytes before and after: the one that moved a large share of the bytes in
// both recordings. A host's own disk may move more in one of them, with a backup or an installation.
// Where there is none, a database has moved: then they are the busiest of each.
func devices(before, after map[string]float64) (a, b string) {
	common, high := "", sameDevice
	for device, share := range before {
		if s := min(share, after[device]); s > high || s == high && device < common {
			common, high = device, s
		}
	}
	if common != "" {
		return common, common
	}
	return busiest(before), busiest(after)
}

// movedShares returns each device's share of the bytes that all moved.
func movedShares(c *rules.Case) map[string]float64 {
	out, all := map[string]float64{}, 0.0
	for _, t := range c.Signal(rules.DiskMoved) {
		s := timeline.Sum(t.Values)
		out[t.Labels.Get("device")] += s
		all += s
	}
	if all > 0 {
		for device := range out {
			out[device] /= all
		}
	}
	return out
}

// busiest returns the device with the largest share, "" if there is none.
func busiest(shares map[string]float64) string {
	best, high := "", -1.0
	for device, s := range shares {
		if s > high || s == high && device < best {
			best, high = device, s
		}
	}
	return best
}
