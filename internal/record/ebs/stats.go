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
}

// Layout of the page: offsets of little-endian numbers.
const (
	statsPage  = 0xD0
	statsMagic = 0x3C23B510
	statsBytes = 4096
	statsFirst = 8 // eleven numbers of 8 bytes, ReadOps first; histograms of latency follow them
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

	return s, nil
}
