package ebs

import (
	"encoding/binary"
	"slices"
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

	for i, at := range []int{512, 2056} {
		binary.LittleEndian.PutUint64(b[at:], 2)
		for bin := range 2 {
			x := b[at+8+24*bin:]
			binary.LittleEndian.PutUint64(x, uint64(100*bin))
			binary.LittleEndian.PutUint64(x[8:], uint64(100*bin+100))
			binary.LittleEndian.PutUint32(x[16:], uint32(10*i+bin+1))
		}
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
	if want := []StatsBin{{0, 100, 11}, {100, 200, 12}}; !slices.Equal(s.Writes, want) || s.Reads[1].Count != 2 {
		t.Errorf("bins %v, %v", s.Reads, s.Writes)
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
	b = page()
	b[512] = 65
	if _, err := ParseStats(b); err == nil || !strings.Contains(err.Error(), "at most 64") {
		t.Errorf("65 bins: %v", err)
	}
}

func FuzzParseStats(f *testing.F) {
	f.Add(page())
	f.Add(page()[:511])
	f.Fuzz(func(t *testing.T, b []byte) {
		if s, err := ParseStats(b); err == nil && (len(s.Reads) > statsBinsMax || len(s.Writes) > statsBinsMax) {
			t.Fatalf("%d and %d bins", len(s.Reads), len(s.Writes))
		}
	})
}
