package ftdc

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"plimsoll/internal/base/safefile"
	"plimsoll/internal/record/source"
)

// Files returns the FTDC files at a path: the file itself, or a folder's metrics.* files in the
// order of their names, which is chronological, with metrics.interim last. The folder may also be
// the parent of diagnostic.data. There is at least one file unless there is an error.
func Files(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}

	// A copy that failed leaves an empty file, which is worth a clear message.
	if !info.IsDir() {
		if info.Size() == 0 && info.Mode().IsRegular() {
			return nil, fmt.Errorf("%s: empty file; copy the capture again, or give its folder", path)
		}
		return []string{path}, nil
	}

	files, err := metricsFiles(path)
	if err != nil {
		return nil, err
	}

	// Users often give the dbPath, which contains the folder.
	if len(files) == 0 {
		inner := filepath.Join(path, "diagnostic.data")
		if info, err := os.Stat(inner); err == nil && info.IsDir() {
			if files, err = metricsFiles(inner); err != nil {
				return nil, err
			}
		}
	}

	if len(files) == 0 {
		return nil,
			fmt.Errorf("%s: no metrics.* files with data in this folder; give the diagnostic.data folder (inside dbPath)",
				path)
	}

	return files, nil
}

func metricsFiles(folder string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}

	var archive, interim []string // names sorted by ReadDir
	for _, e := range entries {
		name := e.Name()
		if !strings.HasPrefix(name, "metrics.") {
			continue
		}

		// Stat, not the entry's type, because a capture may consist of links.
		path := filepath.Join(folder, name)
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
			continue
		}

		if strings.HasPrefix(name, "metrics.interim") {
			interim = append(interim, path)
		} else {
			archive = append(archive, path)
		}
	}

	return slices.Concat(archive, interim), nil
}

// ownName matches the names that a server gives its files. Files with other names may come from
// several servers.
var ownName = regexp.MustCompile(`^metrics\.(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ-\d{5}|interim)$`)

// Whole implements [source.Part]: the folder of a single file.
func (c *capture) Whole() string {
	if len(c.files) != 1 || c.files[0] != c.desc.Name || !ownName.MatchString(filepath.Base(c.files[0])) {
		return ""
	}
	return filepath.Dir(c.files[0])
}

// With implements [source.Part].
func (c *capture) With(others []source.Source) source.Source {
	out := &capture{desc: c.Describe(), files: slices.Clone(c.files)}
	for _, s := range others {
		if o, ok := s.(*capture); ok {
			out.files = append(out.files, o.files...)
		}
	}
	slices.Sort(out.files) // metrics.interim comes after all dates
	out.files = slices.Compact(out.files)
	out.desc.Name = filepath.Dir(c.files[0])
	return out
}

// Sniff reports whether a path is FTDC, by its content. head is the beginning of a file (at least
// 27 bytes), or nil for a folder, whose metrics.* files are checked. It never fails: a path that
// cannot be read is not FTDC.
func Sniff(path string, head []byte) bool {
	if len(head) > 0 {
		_, _, err := parseHead(head)
		return err == nil
	}
	files, err := Files(path)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(files, func(f string) bool { return sniffFile(f) == nil })
}

// sniffFile returns an error if a file does not begin like FTDC.
func sniffFile(path string) error {
	f, err := safefile.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	var head [headLen]byte
	n, err := io.ReadFull(f, head[:])
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: %w", path, err)
	}
	if _, _, err := parseHead(head[:n]); err != nil {
		return fmt.Errorf("%s: byte 0: %w; give a diagnostic.data folder or one of its metrics.* files", path, err)
	}
	return nil
}
