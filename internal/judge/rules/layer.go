package rules

import (
	"math"
	"slices"
	"strings"

	"plimsoll/internal/record/timeline"
)

// A stacked device takes as long for a request as the slowest of the devices below that it uses.
// Any extra time is lost in the layer itself, as long as the devices below have room: a full queue
// makes requests wait above it before the device below counts them.
const (
	LayerFactor = 2.0   // times the slowest device below, for the time to be lost above it
	LayerLeastS = 0.002 // and at least this many seconds longer
	// If the sources do not report what is below a layer, it is matched by its bytes: equal to
	// within sumsNear for sumsMost of the time.
	sumsNear = 0.2
	sumsMost = 0.9
	sumsMin  = 8 // intervals
	// An excerpt of few intervals must match in all of them, and more closely.
	sumsFewNear = 0.05
	sumsFewMin  = 2
)

// A Layer is a device built on others: a stacked device.
type Layer struct {
	Device string
	Below  []string
	Made   string // "crypt", "lvm", "mpath", "raid5"; "" if unknown
	called string // device-mapper's name; "" if unknown
	Syncs  string // a RAID's sync_action when the recording began; "" if unknown
}

// Layers are the stacked devices and the devices below each, as reported by the host or, if there
// is only one, as implied by its bytes.
func (c *Case) Layers() []Layer {
	var out []Layer
	var named, plain []string

	known := false
	for _, t := range c.Signal(DiskMoved) {
		dev := t.Labels.Get("device")
		if !Stacked(dev) {
			plain = append(plain, dev)
			continue
		}

		named = append(named, dev)
		text, ok := c.Facts["below."+dev]
		known = known || ok

		below := strings.Fields(text)
		if len(below) == 0 || slices.ContainsFunc(below,
			func(b string) bool { return c.For(DiskMoved, "device", b) == nil }) {
			continue
		}

		out = append(out, Layer{dev, below, c.Facts["layer."+dev], c.Facts["called."+dev], c.Facts["sync."+dev]})
	}

	if known {
		return out
	}

	for _, dev := range named {
		if below := c.sameBytes(dev, plain, len(named) == 1); below != nil {
			out = append(out, Layer{Device: dev, Below: below})
		}
	}

	return out
}

// sameBytes returns the one device that moves the same bytes as dev or, if dev is the only layer,
// all of them if their sum matches; nil if that is not certain.
func (c *Case) sameBytes(dev string, plain []string, only bool) []string {
	host := hostOf(dev)
	var near, same []string
	for _, o := range plain {
		if hostOf(o) != host {
			continue
		}
		near = append(near, o)
		if c.sumsTo(dev, o) {
			same = append(same, o)
		}
	}

	switch {
	case len(same) == 1:
		return same
	case len(same) == 0 && only && len(near) > 1 && c.sumsTo(dev, near...):
		return near
	}

	return nil
}

// hostOf is the part of a device's name that names its host; mostly "".
func hostOf(device string) string { return device[:strings.LastIndexByte(device, '/')+1] }

// lostSeldom is the share of the time for which a layer may be slower than the devices below and
// still be judged through them.
const lostSeldom = 0.02

// JudgedBelow returns the layers that move the bytes of the devices below them and take no longer.
// Waits show at the devices below and must count only once.
func (c *Case) JudgedBelow() map[string]bool {
	out := map[string]bool{}
	for _, l := range c.Layers() {
		if !c.sumsTo(l.Device, l.Below...) {
			continue
		}

		// Count only intervals with requests: idle ones show nothing.
		slower, active := 0, 0
		for _, kind := range [][2]*Signal{{DiskWriteAwait, DiskWrites}, {DiskReadAwait, DiskReads}} {
			upper, lower, ops := c.For(kind[0], "device", l.Device), c.Slowest(kind[0], l.Below),
				c.For(kind[1], "device", l.Device)
			for k, x := range upper {
				if k >= len(ops) || !(ops[k] > 0) {
					continue
				}
				active++
				if x >= LayerFactor*lower[k] && x >= lower[k]+LayerLeastS {
					slower++
				}
			}
		}

		if float64(slower) <= lostSeldom*float64(active) {
			out[l.Device] = true
		}
	}

	return out
}

// sumsTo reports whether the devices below together move the bytes of a device.
func (c *Case) sumsTo(device string, below ...string) bool {
	own, sum := c.For(DiskMoved, "device", device), c.Sum(DiskMoved, below)
	busy := timeline.Where(own, func(x float64) bool { return x > 0 })
	near, least, most := sumsNear, sumsMin, sumsMost
	if c.Grid.N < 2*sumsMin {
		near, least, most = sumsFewNear, sumsFewMin, 1
	}

	alike := timeline.Where(Ratio(sum, own), func(x float64) bool { return math.Abs(x-1) <= near })
	return busy.Count() >= least && Share(alike, busy) >= most &&
		math.Abs(timeline.Sum(sum)-timeline.Sum(own)) <= sameRates*timeline.Sum(own)
}

// Sum adds up a signal over devices.
func (c *Case) Sum(of *Signal, devices []string) []float64 {
	out := make([]float64, c.Grid.N)
	for _, dev := range devices {
		for k, x := range c.For(of, "device", dev) {
			out[k] += x
		}
	}
	return out
}

// Slowest is the highest await of the devices in each cell or the one before it, since counters may
// credit a wait to either. NaN means no request below.
func (c *Case) Slowest(await *Signal, devices []string) []float64 {
	out := timeline.Unknown(c.Grid.N)
	for _, dev := range devices {
		for k, x := range c.For(await, "device", dev) {
			for _, at := range []int{k, k + 1} {
				if at < len(out) && x == x && !(out[at] >= x) {
					out[at] = x
				}
			}
		}
	}
	return out
}
