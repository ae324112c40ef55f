//go:build linux

package probe

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Limits says which limit of an Amazon EBS volume, or of the instance, was exceeded during a probe, as the volume's own
// statistics tell (NVMe log page 0xD0).
type Limits struct {
	// Reason says why there is nothing to tell; "" if there is.
	Reason string `json:"not_measurable,omitempty"`
	// Seconds for which more was asked than the limit lets through, while the probe ran.
	VolumeIOPS         float64 `json:"volume_iops_exceeded_seconds"`
	VolumeThroughput   float64 `json:"volume_throughput_exceeded_seconds"`
	InstanceIOPS       float64 `json:"instance_iops_exceeded_seconds"`
	InstanceThroughput float64 `json:"instance_throughput_exceeded_seconds"`
}

// Bit names the limits that were exceeded.
func (l *Limits) Bit() []string {
	var out []string
	for _, x := range []struct {
		seconds float64
		name    string
	}{
		{l.VolumeIOPS, "the volume's IOPS"}, {l.VolumeThroughput, "the volume's throughput"},
		{l.InstanceIOPS, "the instance's IOPS"}, {l.InstanceThroughput, "the instance's throughput"},
	} {
		if x.seconds > 0 {
			out = append(out, x.name)
		}
	}
	return out
}

// A StatsPage is log page 0xD0 of an Amazon EBS volume: counters since the volume was attached.
// Source: Amazon EBS User Guide, "Amazon EBS detailed performance statistics".
type StatsPage struct {
	ReadOps, WriteOps     uint64
	ReadBytes, WriteBytes uint64
	ReadUs, WriteUs       uint64 // summed over operations
	// Microseconds for which more was asked than the volume's, or the instance's, limit.
	VolumeIOPSUs, VolumeThroughputUs     uint64
	InstanceIOPSUs, InstanceThroughputUs uint64
	QueueLength                          uint64
	Reads, Writes                        []StatsBin
}

// A StatsBin is a class of a latency histogram.
type StatsBin struct{ LowerUs, UpperUs, Count uint64 }

// The page's layout: offsets of little-endian numbers.
const (
	statsPage   = 0xD0
	statsMagic  = 0x3C23B510
	statsBytes  = 4096
	statsFirst  = 8   // eleven numbers of 8 bytes, ReadOps first
	statsReads  = 512 // the number of bins, then 64 bins of 24 bytes
	statsWrites = statsReads + 8 + 24*statsBinsMax
	// statsBinsMax is how many bins a histogram has room for.
	statsBinsMax = 64
)

// ParseStats reads a log page.
func ParseStats(page []byte) (*StatsPage, error) {
	if len(page) < statsBytes {
		return nil, fmt.Errorf("log page 0xD0 has %d bytes of %d", len(page), statsBytes)
	}
	if m := binary.LittleEndian.Uint32(page); m != statsMagic {
		return nil, fmt.Errorf("log page 0xD0 begins with %#x, not Amazon EBS' %#x", m, statsMagic)
	}
	s := &StatsPage{}
	for i, to := range []*uint64{
		&s.ReadOps, &s.WriteOps, &s.ReadBytes, &s.WriteBytes, &s.ReadUs, &s.WriteUs,
		&s.VolumeIOPSUs, &s.VolumeThroughputUs, &s.InstanceIOPSUs, &s.InstanceThroughputUs, &s.QueueLength,
	} {
		*to = binary.LittleEndian.Uint64(page[statsFirst+8*i:])
	}
	var err error
	if s.Reads, err = parseBins(page[statsReads:]); err == nil {
		s.Writes, err = parseBins(page[statsWrites:])
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

func parseBins(b []byte) ([]StatsBin, error) {
	n := binary.LittleEndian.Uint64(b)
	if n > statsBinsMax {
		return nil, fmt.Errorf("log page 0xD0: a histogram of %d bins has room for %d", n, statsBinsMax)
	}
	out := make([]StatsBin, n)
	for i := range out {
		at := b[8+24*i:]
		// The count has 4 bytes, and 4 that are reserved.
		out[i] = StatsBin{binary.LittleEndian.Uint64(at), binary.LittleEndian.Uint64(at[8:]), uint64(binary.LittleEndian.Uint32(at[16:]))}
	}
	return out, nil
}

// passthru is struct nvme_passthru_cmd of linux/nvme_ioctl.h.
type passthru struct {
	opcode, flags     uint8
	_                 uint16
	namespace         uint32
	_, _              uint32
	_                 uint64
	address           uint64
	_                 uint32
	length            uint32
	dword10, dword11  uint32
	_, _, _, _        uint32
	timeoutMs, result uint32
}

const (
	ioctlAdmin = 0xC0484E41 // NVME_IOCTL_ADMIN_CMD, _IOWR('N', 0x41, struct nvme_passthru_cmd)
	getLogPage = 0x02
)

// readStats asks a device, "/dev/nvme1n1".
func readStats(device string) (*StatsPage, error) {
	f, err := os.Open(device)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	page := make([]byte, statsBytes)
	c := passthru{opcode: getLogPage, namespace: 1, length: statsBytes, timeoutMs: 5000}
	var pin runtime.Pinner
	pin.Pin(&page[0])
	defer pin.Unpin()
	c.address = uint64(uintptr(unsafe.Pointer(&page[0])))
	c.dword10 = statsPage | (statsBytes/4-1)<<16 // so many words of 4 bytes, less one
	status, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), ioctlAdmin, uintptr(unsafe.Pointer(&c)))
	if errno != 0 {
		return nil, fmt.Errorf("%s: log page 0xD0: %w", device, errno)
	}
	if status != 0 {
		return nil, fmt.Errorf("%s has no log page 0xD0 (NVMe status %#x)", device, status)
	}
	return ParseStats(page)
}

// sysBlock tells devices by their numbers.
var sysBlock = "/sys/dev/block"

// deviceOf names the device under a path, and reads its statistics.
func deviceOf(path string) (name string, stats func() (*StatsPage, error)) {
	none := func(reason string) func() (*StatsPage, error) {
		return func() (*StatsPage, error) { return nil, errors.New(reason) }
	}
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return "", none(err.Error())
	}
	link := fmt.Sprintf("%s/%d:%d", sysBlock, unix.Major(st.Dev), unix.Minor(st.Dev))
	real, err := filepath.EvalSymlinks(link)
	if err != nil {
		return "", none("the file system is on no block device")
	}
	if _, err := os.Stat(filepath.Join(real, "partition")); err == nil {
		real = filepath.Dir(real)
	}
	name = filepath.Base(real)
	if !strings.HasPrefix(name, "nvme") {
		return name, none(name + " is no NVMe device; only Amazon's tell which limit was exceeded")
	}
	first, err := readStats("/dev/" + name)
	if err != nil {
		return name, none(err.Error())
	}
	return name, func() (*StatsPage, error) { return first, nil }
}

// limitsSince compares the statistics with those before.
func limitsSince(path string, before func() (*StatsPage, error)) Limits {
	a, err := before()
	if err != nil {
		return Limits{Reason: err.Error()}
	}
	_, now := deviceOf(path)
	b, err := now()
	if err != nil {
		return Limits{Reason: err.Error()}
	}
	return a.exceeded(b)
}

// exceeded is by how much limits were exceeded between two pages.
func (s *StatsPage) exceeded(later *StatsPage) Limits {
	grew := func(a, b uint64) float64 {
		if b < a {
			return 0 // the volume was attached again
		}
		return float64(b-a) / 1e6
	}
	return Limits{
		VolumeIOPS: grew(s.VolumeIOPSUs, later.VolumeIOPSUs), VolumeThroughput: grew(s.VolumeThroughputUs, later.VolumeThroughputUs),
		InstanceIOPS: grew(s.InstanceIOPSUs, later.InstanceIOPSUs), InstanceThroughput: grew(s.InstanceThroughputUs, later.InstanceThroughputUs),
	}
}
