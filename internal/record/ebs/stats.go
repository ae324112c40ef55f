package ebs

import (
	"encoding/binary"
	"fmt"
)

// A StatsPage is log page 0xD0 of an Amazon EBS volume: counters since the volume was attached.
// Source: Amazon EBS User Guide, "Amazon EBS detailed performance statistics".
type StatsPage struct {
	ReadOps, WriteOps     uint64
	ReadBytes, WriteBytes uint64
	ReadUs, WriteUs       uint64 // summed over operations
	// Microseconds during which demand exceeded the limit of the volume or the instance.
	VolumeIOPSUs, VolumeThroughputUs     uint64
	InstanceIOPSUs, InstanceThroughputUs uint64
	QueueLength                          uint64
	Reads, Writes                        []StatsBin
}

// A StatsBin is one class of a latency histogram.
type StatsBin struct{ LowerUs, UpperUs, Count uint64 }

// Layout of the page: offsets of little-endian numbers.
const (
	statsPage   = 0xD0
	statsMagic  = 0x3C23B510
	statsBytes  = 4096
	statsFirst  = 8   // eleven numbers of 8 bytes, ReadOps first
	statsReads  = 512 // the number of bins, then 64 bins of 24 bytes
	statsWrites = statsReads + 8 + 24*statsBinsMax
	// statsBinsMax is the capacity of a histogram in bins.
	statsBinsMax = 64
)

// ParseStats parses a log page.
func ParseStats(page []byte) (*StatsPage, error) {
	if len(page) < statsBytes {
		return nil, fmt.Errorf("log page 0xD0 has %d bytes: want %d", len(page), statsBytes)
	}

	if m := binary.LittleEndian.Uint32(page); m != statsMagic {
		return nil, fmt.Errorf("log page 0xD0 begins with %#x: want %#x (Amazon EBS)", m, statsMagic)
	}

	s := &StatsPage{}

	// In the order of the page.
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
		return nil, fmt.Errorf("log page 0xD0: a histogram has %d bins: want at most %d", n, statsBinsMax)
	}
	out := make([]StatsBin, n)
	for i := range out {
		at := b[8+24*i:]
		// The count has 4 bytes; the 4 bytes after it are reserved.
		out[i] = StatsBin{binary.LittleEndian.Uint64(at), binary.LittleEndian.Uint64(at[8:]),
			uint64(binary.LittleEndian.Uint32(at[16:]))}
	}
	return out, nil
}
