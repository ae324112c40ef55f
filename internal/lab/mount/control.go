//go:build linux

package mount

import (
	"plimsoll/internal/base/units"
	"plimsoll/internal/lab/disk"
	"plimsoll/internal/model/volume"
)

// Status is the state of a daemon's volumes.
type Status struct {
	About   string         `json:"about"`
	Paced   bool           `json:"paced"` // requests wait for their volumes; false while data is loaded
	Backing string         `json:"backing"`
	Volumes []VolumeStatus `json:"volumes"`
}

// A VolumeStatus is the state of one volume. Its JSON is a contract: seconds, bytes, shares from 0
// to 1.
type VolumeStatus struct {
	Name       string   `json:"name"`
	Dir        string   `json:"dir"`
	Device     string   `json:"device"`
	FileSystem string   `json:"filesystem"`
	Size       int64    `json:"size_bytes"`
	Gives      []string `json:"gives"` // its limits, as human-readable text
	// The limits for reads and writes together; 0: no limit.
	IOPS       float64 `json:"iops"`
	Throughput float64 `json:"throughput_bytes"`
	Latency    float64 `json:"latency_seconds"` // mean of a write

	Requests   map[string]int64 `json:"requests"` // by operation
	Bytes      map[string]int64 `json:"bytes"`
	Operations int64            `json:"operations"` // charged by the volume
	// HeldBy is how long each limit delayed requests, in seconds, summed over requests.
	HeldBy   map[string]float64 `json:"held_by_seconds"`
	Credits  *float64           `json:"credits"` // fill level of the burst bucket; null: no bucket
	Degraded bool               `json:"degraded"`

	Resident int64 `json:"resident_bytes"` // of the image
	Refused  int64 `json:"refused_writes"` // because the image's backing store was full

	// The emulator's own error: how late its answers were.
	LateP50   float64 `json:"late_p50_seconds"`
	LateP99   float64 `json:"late_p99_seconds"`
	LateMax   float64 `json:"late_max_seconds"`
	Late      float64 `json:"late_share"`
	LateWorst float64 `json:"late_share_worst"` // in the worst ten seconds
	// The mean latency of reads and writes as counted by the kernel, which includes the path to the
	// emulator and back, and the planned mean. Null: no requests.
	Kernel *float64 `json:"kernel_mean_seconds"`
	Asked  *float64 `json:"asked_mean_seconds"`
	// Added is the largest excess of the kernel's mean over the planned one, within ten seconds.
	Added float64 `json:"path_added_worst_seconds"`
	// Saturated means that the machine could not keep up: answers were late (LateWorst), or the
	// path to the emulator was slow (Slow).
	Saturated bool `json:"saturated"`
	Slow      bool `json:"path_slow"`
	// Problem says why the volume cannot be used at its mount point: another mount covers it, or it
	// is not mounted there.
	Problem string `json:"problem,omitempty"`
}

// CutReport describes the effect of a power loss, by volume.
type CutReport map[string]disk.CutReport

func (v *VolumeStatus) fill(s disk.Stats) {
	v.Requests, v.Bytes, v.HeldBy = map[string]int64{}, map[string]int64{}, map[string]float64{}
	for op := range volume.Op(volume.Ops) {
		v.Requests[op.String()], v.Bytes[op.String()] = s.Requests[op], s.Bytes[op]
	}

	for l := range volume.Limit(volume.Limits) {
		if held := s.Volume.HeldBy[l]; held > 0 {
			v.HeldBy[l.String()] = seconds(held)
		}
	}

	v.Operations, v.Degraded = s.Volume.Operations, s.Volume.Degraded
	if s.Volume.HasCredits {
		c := float64(s.Volume.Credits)
		v.Credits = &c
	}

	v.Resident, v.Refused = int64(s.Resident), s.Refused
	v.LateP50, v.LateP99, v.LateMax = seconds(s.LateP50), seconds(s.LateP99), seconds(s.LateMax)
	v.Late, v.LateWorst, v.Saturated = float64(s.Late), float64(s.LateWorst), s.Saturated
}

// compare adds the kernel's counts.
func (v *VolumeStatus) compare(c *comparison, now sight) {
	all := now.since(c.from)
	// The current ten seconds are not over yet, but count if they are already slow.
	added, slow := now.since(c.span).added() // of the current ten seconds
	v.Added, v.Slow = seconds(max(c.worst, added)), c.slow || slow
	if all.requests > 0 {
		kernel, asked := seconds(all.took)/float64(all.requests), seconds(all.asked)/float64(all.requests)
		v.Kernel, v.Asked = &kernel, &asked
	}
	v.Saturated = v.Saturated || v.Slow
}

func seconds(d units.Duration) float64 { return float64(d) / 1e9 }

// request is the body of a request to the daemon.
type request struct {
	Paced *bool     `json:"paced,omitempty"`
	Sets  []string  `json:"sets,omitempty"`
	Cut   *disk.Cut `json:"cut,omitempty"`
	Force bool      `json:"force,omitempty"`
}

// answer is the response: an error or the requested data.
type answer struct {
	Error  string    `json:"error,omitempty"`
	Busy   bool      `json:"busy,omitempty"` // the error is a BusyError
	Status *Status   `json:"status,omitempty"`
	Cut    CutReport `json:"cut,omitempty"`
}
