package recording

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A log that is truncated or damaged anywhere is read up to that point, and a note says where.
func TestLogDamaged(t *testing.T) {
	dir := t.TempDir()
	d := mustCreate(t, dir, DiskOptions{})
	defer mustClose(t, d)
	feed(t, d)

	whole, err := os.ReadFile(filepath.Join(dir, walDirName, "00000000"))
	if err != nil {
		t.Fatal(err)
	}

	manifest, err := os.ReadFile(filepath.Join(dir, ManifestName))
	if err != nil {
		t.Fatal(err)
	}

	for _, size := range []int{0, 1, 6, 7, 100, len(whole) / 3, len(whole) / 2, len(whole) - 1} {
		for _, flip := range []bool{false, true} {
			text := append([]byte(nil), whole[:size]...)
			if flip && size > 0 {
				text = append(text, whole[size:]...)
				text[size] ^= 0x55
			}

			left := t.TempDir()
			if err := os.Mkdir(filepath.Join(left, walDirName), 0o777); err != nil {
				t.Fatal(err)
			}

			mustWrite(t, filepath.Join(left, walDirName, "00000000"), text)
			mustWrite(t, filepath.Join(left, ManifestName), manifest)
			r, err := Open(left)
			if err != nil {
				t.Errorf("cut at %d: %v", size, err)
				continue
			}

			var damage *Note
			for _, n := range r.Notes() {
				if n.Kind == NoteDamage {
					damage = &n
				}
			}

			if flip && size > 0 && (damage == nil || damage.File != filepath.Join(walDirName, "00000000")) {
				t.Errorf("damage at %d: note %+v", size, damage)
			}

			for _, s := range ask(t, r, `c_total{device="a"}`, 0, 599, time.Second, 900*time.Millisecond) {
				for _, p := range s.Points {
					if p.F != 10*at(p) {
						t.Errorf("cut at %d: %g at %g s", size, p.F, at(p))
					}
				}
			}

			mustClose(t, r)
		}
	}
}

// FuzzLog reads arbitrary bytes as a log.
func FuzzLog(f *testing.F) {
	dir := f.TempDir()
	d := mustCreate(f, dir, DiskOptions{})
	feed(f, d)

	whole, err := os.ReadFile(filepath.Join(dir, walDirName, "00000000"))
	if err != nil {
		f.Fatal(err)
	}

	mustClose(f, d)
	f.Add(whole[:min(len(whole), 4096)])
	f.Add(whole[:100])
	f.Add([]byte{1, 0, 1, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, text []byte) {
		left := t.TempDir()
		if err := os.Mkdir(filepath.Join(left, walDirName), 0o777); err != nil {
			t.Fatal(err)
		}

		mustWrite(t, filepath.Join(left, walDirName, "00000000"), text)
		m := NewMemory(MemoryOptions{MaxBytes: 1 << 20})
		if _, err := readWAL(t.Context(), left, m, TimeMaxMs); err != nil {
			t.Fatal(err)
		}

		if _, err := m.Samples(t.Context(), EverySeries(), time.UnixMilli(math.MinInt64/2), time.UnixMilli(math.MaxInt64/2)); err != nil {
			t.Fatal(err)
		}

		if _, err := m.Metrics(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzManifest reads arbitrary bytes as recording.json.
func FuzzManifest(f *testing.F) {
	text, err := json.Marshal(manifest{Format: formatName, Version: FormatVersion, Sources: []Source{{Name: "a"}}, Notes: []Note{{}}})
	if err != nil {
		f.Fatal(err)
	}

	f.Add(text)
	f.Add([]byte(`{"format":"plimsoll recording","version":1,"sources":[{"period_ns":1e99}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		dir := t.TempDir()
		mustWrite(t, filepath.Join(dir, ManifestName), text)
		m, err := readManifest(dir)
		if (m == nil) == (err == nil) {
			t.Fatalf("manifest %v, error %v", m, err)
		}
		if err != nil && !strings.Contains(err.Error(), ManifestName) {
			t.Errorf("the error does not name the file: %v", err)
		}
	})
}

func mustWrite(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o666); err != nil {
		t.Fatal(err)
	}
}
