package recording

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Damage to a block costs only the damaged samples: all others are read, and a note names the file,
// what is lost, and its time.
func TestTornBlock(t *testing.T) {
	whole := t.TempDir()
	mustRecord(t, whole)
	blocks, err := blockDirs(whole)
	if err != nil || len(blocks) != 1 {
		t.Fatal(blocks, err)
	}

	chunk := mustRead(t, filepath.Join(blocks[0], "chunks", "000001"))
	index := mustRead(t, filepath.Join(blocks[0], "index"))
	for _, c := range []struct {
		name, file string
		damage     func() []byte
		least      int // samples that are still there, of 4,000
		text       string
	}{
		{"cut at the end", "chunks/000001", func() []byte { return chunk[:len(chunk)-20] }, 3000, "chunks of samples are unreadable"},
		{"cut in the middle", "chunks/000001", func() []byte { return chunk[:len(chunk)/2] }, 1500, "chunks of samples are unreadable"},
		{"a flipped bit", "chunks/000001", func() []byte { return flipped(chunk, len(chunk)/2) }, 3000, "chunks of samples are unreadable"},
		{"empty", "chunks/000001", func() []byte { return nil }, 0, "cannot read a block of the recording"},
		{"index cut", "index", func() []byte { return index[:len(index)/2] }, 0, "cannot read a block of the recording"},
		{"index series flipped", "index", func() []byte { return flipped(index, strings.Index(string(index), "__name__")+60) }, 0, "entries of the index are unreadable"},
		{"no meta.json", "meta.json", func() []byte { return []byte("{") }, 0, "cannot read a block of the recording"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "rec")
			if err := os.CopyFS(dir, os.DirFS(whole)); err != nil {
				t.Fatal(err)
			}

			// A second, intact block.
			d := mustCreate(t, dir, DiskOptions{})
			b := &Batch{TimesMs: []int64{1_700_003_000_000, 1_700_003_001_000}, Columns: []Column{{Labels: named("other"), Values: []float64{1, 2}}}}
			if err := d.Append(t.Context(), b); err != nil {
				t.Fatal(err)
			}

			mustClose(t, d)
			file := filepath.Join(dir, filepath.Base(blocks[0]), c.file)
			mustWrite(t, file, c.damage())

			check := func() {
				t.Helper()
				r := mustOpen(t, dir)
				defer r.Close()

				if _, err := r.Metrics(t.Context()); err != nil {
					t.Fatal(err)
				}

				n := 0
				for _, metric := range []string{"m", "other"} {
					series, err := r.Samples(t.Context(), MustSelector(metric), time.UnixMilli(0), time.UnixMilli(1_800_000_000_000))
					if err != nil {
						t.Fatal(err)
					}
					for _, s := range series {
						n += len(s.Points)
					}
				}

				if n < c.least+2 || n >= 4002 {
					t.Errorf("%d samples are left", n)
				}

				var damage []Note
				for _, n := range r.Notes() {
					if n.Kind == NoteDamage {
						damage = append(damage, n)
					}
				}

				if len(damage) == 0 || !strings.Contains(damage[0].Text, c.text) || !strings.HasPrefix(damage[0].File, filepath.Base(blocks[0])) || strings.Contains(damage[0].Text, "0000000000") {
					t.Errorf("notes %+v", damage)
				} else if c.file != "meta.json" && c.file != "index" && (damage[0].From.IsZero() || !damage[0].To.After(damage[0].From)) {
					t.Errorf("the time of the damage is %s to %s", damage[0].From, damage[0].To)
				}
			}

			check()

			// It can be recorded to again.
			mustClose(t, mustCreate(t, dir, DiskOptions{}))
			check()
		})
	}
}

func flipped(text []byte, at int) []byte {
	out := append([]byte(nil), text...)
	out[at] ^= 0x10
	return out
}

// A killed recorder's recording still reports its number of samples.
func TestKilledRecordingCountsItsSamples(t *testing.T) {
	dir := t.TempDir()
	d := mustCreate(t, dir, DiskOptions{})
	d.Source(Source{Kind: "host", Name: "host", From: t0, To: t0, Samples: 1})
	feedRing(t, d, 0, 300)
	killed(t, d)
	r := mustOpen(t, dir)
	defer mustClose(t, r)
	if s := r.Sources(); len(s) != 1 || s[0].Samples != 300 || !s[0].To.Equal(second(299)) {
		t.Errorf("sources %+v", s)
	}
}
