package recording

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"plimsoll/internal/base/jsonerror"
	"plimsoll/internal/base/safefile"
)

// ManifestName is the file that makes a folder a recording.
const ManifestName = "recording.json"

// FormatVersion is the version of the folder's layout; see FORMAT.md.
const FormatVersion = 1

const (
	formatName     = "plimsoll recording"
	stateRecording = "recording"
	stateClosed    = "closed"
	// manifestMax bounds the size of a recording.json.
	manifestMax = 64 << 20
)

// manifest is the content of recording.json.
type manifest struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	State   string `json:"state"`
	// Ring means that old samples are removed. Only a folder that was created as a ring continues
	// as one.
	Ring    bool      `json:"ring,omitempty"`
	Created time.Time `json:"created"`
	Updated time.Time `json:"updated"`
	Sources []Source  `json:"sources"`
	Notes   []Note    `json:"notes"`
	// Blocks are the blocks of a closed recording, to detect a missing or replaced one.
	Blocks []blockEntry `json:"blocks,omitempty"`
}

// A blockEntry describes a block of a recording.
type blockEntry struct {
	ID          string `json:"id"`
	FromMs      int64  `json:"from_ms"`
	ToMs        int64  `json:"to_ms"` // time of the last sample
	SampleCount uint64 `json:"samples"`
}

// blockEntries describes the blocks of a folder. It skips unreadable ones.
func blockEntries(dir string) ([]blockEntry, error) {
	dirs, err := blockDirs(dir)
	if err != nil {
		return nil, err
	}
	var out []blockEntry
	for _, d := range dirs {
		if meta, err := readBlockMeta(d); err == nil {
			out = append(out, blockEntry{filepath.Base(d), meta.MinTime, meta.MaxTime - 1, meta.Stats.NumSamples})
		}
	}
	return out, nil
}

// missing returns notes about blocks of a closed recording that are missing, or have other times or
// samples than when it was closed.
func (m *manifest) missing(dir string) (out []Note) {
	if m.State != stateClosed {
		return nil
	}

	all := uint64(0)
	for _, b := range m.Blocks {
		all += b.SampleCount
	}

	for _, b := range m.Blocks {
		note := Note{Kind: NoteDamage, Source: dir, File: b.ID, From: time.UnixMilli(b.FromMs).UTC(),
			To: time.UnixMilli(b.ToMs).UTC()}
		meta, err := readBlockMeta(filepath.Join(dir, b.ID))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			note.Text = fmt.Sprintf("block %s of the recording, with %d samples, is missing: restore it from a copy",
				b.ID, b.SampleCount)
			note.Lost = float64(b.SampleCount) / float64(max(all, 1))
		case err != nil:
			continue // opening it reports why
		case meta.MinTime != b.FromMs || meta.MaxTime-1 != b.ToMs || meta.Stats.NumSamples != b.SampleCount:
			note.Text = fmt.Sprintf("block %s of the recording has %d samples from %s to %s, but had %d in the time range of this note when the recording was closed: restore it from a copy",
				b.ID, meta.Stats.NumSamples, time.UnixMilli(meta.MinTime).UTC().Format(time.DateTime),
				time.UnixMilli(meta.MaxTime-1).UTC().Format(time.DateTime), b.SampleCount)
		default:
			continue
		}

		out = append(out, note)
	}

	return out
}

// IsRecording reports whether dir contains a recording, of any version.
func IsRecording(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, ManifestName))
	return err == nil && info.Mode().IsRegular()
}

// A NoRecordingError refuses a folder that has other files.
type NoRecordingError struct{ Dir string }

func (e *NoRecordingError) Error() string {
	return e.Dir + " is not a recording: it has no " + ManifestName
}

// Hint returns what to do.
func (*NoRecordingError) Hint() string { return "to record, name a folder that is new or empty" }

// readManifest reads and validates recording.json in dir.
func readManifest(dir string) (*manifest, error) {
	file := filepath.Join(dir, ManifestName)
	f, err := safefile.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		if _, missing := os.Stat(dir); missing != nil {
			return nil, missing
		}
		return nil, &NoRecordingError{Dir: dir}
	}

	if err != nil {
		return nil, err
	}

	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, manifestMax+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}

	if len(text) > manifestMax {
		return nil, fmt.Errorf("%s is larger than %d bytes: it is not the file of a recording", file, manifestMax)
	}

	// The version is checked before decoding the rest, whose format may differ in other versions.
	var head struct {
		Format  string `json:"format"`
		Version int    `json:"version"`
	}

	if err := json.Unmarshal(text, &head); err != nil {
		return nil, manifestError(file, text, err)
	}
	if head.Format != formatName {
		return nil, fmt.Errorf("%s: format %q: want %q; this is not a recording of plimsoll", file,
			head.Format, formatName)
	}

	switch {
	case head.Version > FormatVersion:
		return nil,
			fmt.Errorf("%s: format version %d is newer than the supported version %d: use a newer plimsoll",
				file, head.Version, FormatVersion)
	case head.Version < FormatVersion:
		return nil,
			fmt.Errorf("%s: format version %d is older than the supported version %d: record again or use an older plimsoll",
				file, head.Version, FormatVersion)
	}

	var m manifest
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, manifestError(file, text, err)
	}

	return &m, nil
}

func manifestError(file string, text []byte, err error) error {
	return fmt.Errorf("%s: %w: restore it from a copy", file, jsonerror.Explain(text, err))
}

// write replaces the manifest in dir atomically: a reader, or a process started after a crash, sees
// either the old or the new one.
func (m *manifest) write(dir string) error {
	text, err := json.MarshalIndent(m, "", "\t")
	if err != nil {
		return fmt.Errorf("write %s: %w", ManifestName, err)
	}
	return safefile.Write(filepath.Join(dir, ManifestName), append(text, '\n'), safefile.Options{})
}

// syncDir makes the entries of a folder durable.
func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = f.Sync()
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrInvalid) {
		err = nil // some file systems cannot sync a folder
	}
	return errors.Join(err, f.Close())
}
