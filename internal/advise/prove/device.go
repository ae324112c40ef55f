package prove

import (
	"cmp"
	"fmt"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// chooseDevices chooses the device for each side's figures: the one with the engine's files, if the
// recordings show which that is. It may not be the busiest one: the disk below an emulated volume moves
// the same bytes again, and recordings and copies are written to some disk too. If only one side knows
// the device, the other side uses the same one. If neither does and their busiest devices differ, both
// use a device that was busy in both, if there is one, and the result includes a warning.
func chooseDevices(a, b *side) (unsure string) {
	a.device, b.device = a.c.FilesDevice(), b.c.FilesDevice()
	before, after := movedShares(a.c), movedShares(b.c)
	for _, x := range []struct {
		known, not *side
		moved      map[string]float64
	}{{a, b, after}, {b, a, before}} {
		// The other side must have the device, or there is nothing to read.
		if x.known.device != "" && x.not.device == "" {
			if _, has := x.moved[x.known.device]; has {
				x.not.device = x.known.device
				return fmt.Sprintf("only the recording %s shows which device has the engine's files: %s is used for both",
					x.known.word, x.known.device)
			}
		}
	}

	x, y := devices(before, after)
	known := a.device != "" || b.device != ""
	a.device, b.device = cmp.Or(a.device, x), cmp.Or(b.device, y)

	if x, y = busiest(before), busiest(after); !known && x != y && a.device == b.device {
		return fmt.Sprintf("it is unknown which device has the engine's files: %s moved the most bytes before, %s after; the device figures are those of %s in both",
			x, y, a.device)
	}

	return ""
}

// sameDevice is the minimum share of all bytes that a device must have moved in both recordings to count
// as the same database's device (assumed). Below that, its data may have moved elsewhere.
const sameDevice = 0.2

// devices chooses devices for the figures if the engine's files are unknown, from the devices' shares of
// the bytes before and after: one that moved a large share in both recordings. Another disk of the host
// may have moved more in one of them, because of a backup or an installation. If there is no common one,
// the database has moved, and each side uses its busiest device.
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

// movedShares returns each device's share of the bytes moved by all devices.
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

// busiest returns the device with the largest share; "" if there is none.
func busiest(shares map[string]float64) string {
	best, high := "", -1.0
	for device, s := range shares {
		if s > high || s == high && device < best {
			best, high = device, s
		}
	}
	return best
}
