package ebs

import (
	"encoding/binary"
	"strings"
	"testing"
)

// page builds a log page with the documented offsets, with a distinct value at each.
func page() []byte {
	b := make([]byte, statsBytes)
	binary.LittleEndian.PutUint32(b, 0x3C23B510)

	for i := range uint64(11) {
		binary.LittleEndian.PutUint64(b[8+8*i:], 1_000_000*(i+1))
	}

	return b
}

func TestParseStats(t *testing.T) {
	s, err := ParseStats(page())
	if err != nil {
		t.Fatal(err)
	}
	if s.ReadOps != 1e6 || s.WriteUs != 6e6 || s.VolumeIOPSUs != 7e6 || s.VolumeThroughputUs != 8e6 || s.InstanceIOPSUs != 9e6 || s.InstanceThroughputUs != 10e6 || s.QueueLength != 11e6 {
		t.Errorf("%+v", s)
	}
}

func TestBadStats(t *testing.T) {
	if _, err := ParseStats(page()[:100]); err == nil {
		t.Error("a short page was accepted")
	}
	b := page()
	b[0]++
	if _, err := ParseStats(b); err == nil || !strings.Contains(err.Error(), "0x3c23b510") {
		t.Errorf("another magic: %v", err)
	}
}

func FuzzParseStats(f *testing.F) {
	f.Add(page())
	f.Add(page()[:511])
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, err := ParseStats(b); err == nil && len(b) < statsBytes {
			t.Fatalf("a page of %d bytes was accepted", len(b))
		}
	})
}
