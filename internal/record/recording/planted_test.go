//go:build unix

package recording

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"plimsoll/internal/base/safefile"
)

// A user who may write into the folder cannot make the recorder write elsewhere: a link is refused
// or replaced, and its target is unchanged.
func TestPlantedLinks(t *testing.T) {
	for _, c := range []struct {
		name, at string
		refused  bool
		folder   bool // the link points at a folder
	}{
		{name: "manifest", at: ManifestName, refused: true},
		{name: "log", at: "wal", refused: true, folder: true},
		{name: "file of the log", at: "wal/00000007", refused: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, away := filepath.Join(t.TempDir(), "rec"), t.TempDir()
			mustRecord(t, dir)
			precious := filepath.Join(away, "precious")
			mustWrite(t, precious, mustRead(t, filepath.Join(dir, ManifestName)))
			at := filepath.Join(dir, c.at)
			target := precious

			if c.folder {
				target = away
			}

			if err := os.RemoveAll(at); err != nil {
				t.Fatal(err)
			}

			if err := os.Symlink(target, at); err != nil {
				t.Fatal(err)
			}

			before := mustRead(t, precious)
			d, err := Create(dir, DiskOptions{})
			if err == nil {
				err = d.Close()
			}

			var link *safefile.NotFileError
			if refused := errors.As(err, &link); refused != c.refused || refused && !strings.Contains(err.Error(), "symbolic link") {
				t.Errorf("refused: %v, want %v: %v", refused, c.refused, err)
			}

			if after := mustRead(t, precious); string(after) != string(before) {
				t.Errorf("what the link points at was written to: %q", after)
			}
		})
	}
}

// A pipe in place of any file is an error or a note, without waiting for its other end.
func TestPipeInAFilesPlace(t *testing.T) {
	for _, of := range []string{ManifestName, "meta.json", "index", "tombstones", "chunks/000001", "wal/00000000"} {
		t.Run(of, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "rec")
			mustRecord(t, dir)
			at := filepath.Join(dir, of)

			if of != ManifestName && !strings.HasPrefix(of, "wal") {
				blocks, err := blockDirs(dir)
				if err != nil || len(blocks) != 1 {
					t.Fatal(blocks, err)
				}
				at = filepath.Join(blocks[0], of)
			}

			if err := os.RemoveAll(at); err != nil {
				t.Fatal(err)
			}

			if err := syscall.Mkfifo(at, 0o644); err != nil {
				t.Fatal(err)
			}

			r, err := Open(dir)
			text := ""
			if err != nil {
				text = err.Error()
			} else {
				for _, n := range r.Notes() {
					text += n.File + " " + n.Text + "\n"
				}
				r.Close()
			}

			if !strings.Contains(text, "named pipe") || !strings.Contains(text, filepath.Base(of)) {
				t.Errorf("no word of the pipe: %s", text)
			}

			if d, err := Create(dir, DiskOptions{}); err == nil { // neither does the recorder wait
				d.Close()
			}
		})
	}
}

// mustRecord creates a closed recording with one block.
func mustRecord(t *testing.T, dir string) {
	t.Helper()
	d, err := Create(dir, DiskOptions{})
	if err != nil {
		t.Fatal(err)
	}

	b := &Batch{Columns: []Column{{Labels: named("m", "a", "1")}, {Labels: named("m", "a", "2")}}}
	for i := range 2000 {
		b.TimesMs = append(b.TimesMs, 1_700_000_000_000+1000*int64(i))
		b.Columns[0].Values = append(b.Columns[0].Values, float64(i*i%977))
		b.Columns[1].Values = append(b.Columns[1].Values, float64(i*i%313))
	}

	if err := d.Append(context.Background(), b); err != nil {
		t.Fatal(err)
	}

	d.Source(Source{Kind: "host", Name: "host", Samples: 2000})
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}

func mustRead(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
