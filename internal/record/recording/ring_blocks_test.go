package recording

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestRingOfMonths: a ring of any length does not exceed the maximum number of blocks.
func TestRingOfMonths(t *testing.T) {
	for _, keep := range []time.Duration{time.Minute, time.Hour, 24 * time.Hour, 60 * 24 * time.Hour, 3 * 365 * 24 * time.Hour} {
		opt := DiskOptions{Keep: keep}.withDefaults()
		if n := keep / opt.blockTime; n > blocksMax/2 || n < 8 {
			t.Errorf("a ring of %v has blocks of %v, %d of them; want 8 to %d", keep, opt.blockTime, n, blocksMax/2)
		}
	}
}

// TestRingOfManySeries: a ring of 17,000 series at one second does not write a block each minute.
// The maximum number of such blocks would last 16 hours.
func TestRingOfManySeries(t *testing.T) {
	dir := t.TempDir()
	d := mustCreate(t, dir, DiskOptions{Keep: 24 * time.Hour})
	const series, seconds = 17_000, 80

	b := Batch{TimesMs: make([]int64, 1)}
	for i := range series {
		b.Columns = append(b.Columns, Column{Labels: named("x", "n", fmt.Sprint(i)), Values: make([]float64, 1)})
	}

	for s := range seconds {
		b.TimesMs[0] = second(float64(s)).UnixMilli()
		for i := range b.Columns {
			b.Columns[i].Values[0] = float64(s * i)
		}
		if err := d.Append(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
	}

	settled(d)
	blocks, err := blockDirs(dir)
	if err != nil || len(blocks) != 0 {
		t.Errorf("%d blocks after %d s (%v), want none", len(blocks), seconds, err)
	}

	mustClose(t, d)
}

// TestRingOfTooManyBlocks: if the number of blocks limits what a ring keeps, a note says so, once.
func TestRingOfTooManyBlocks(t *testing.T) {
	dir := t.TempDir()
	d := mustCreate(t, dir, DiskOptions{Keep: 24 * time.Hour, BlockSamples: 20, blocks: 3})
	for k := range 8 {
		feedRing(t, d, 20*k, 20)
		settled(d)
	}

	mustClose(t, d)
	r := mustOpen(t, dir)
	defer mustClose(t, r)

	first, last := counted(t, r)
	if last != 159 || first < 60 {
		t.Errorf("holds %d to %d, want the newest 4 blocks of 20", first, last)
	}

	notes := slices.DeleteFunc(r.Notes(), func(n Note) bool { return !strings.Contains(n.Text, "3 blocks") })
	if len(notes) != 1 || notes[0].Kind != NoteLimit || !strings.Contains(notes[0].Text, "were removed early") {
		t.Errorf("notes %+v, want one about the blocks", notes)
	}
}
