package events

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestSaveLoad(t *testing.T) {
	h := &Header{Target: "x", Began: time.Unix(1700000000, 0).UTC(), Slower: time.Millisecond, Disks: []Disk{{Dev: 1, Name: "sda"}}}
	b := &Batch{
		Calls:    []Call{{Task: Task{1, 2, "a"}, Kind: Fsync, Enter: 1, Exit: 2}},
		Waits:    []Wait{{Out: 1, In: 3, Stack: []string{"f", "g"}}},
		Requests: []Request{{Dev: 1, Bytes: 4096, First: 5, Done: 6, Reason: Periodic}},
		Commits:  []Commit{{Dev: 1, Start: 1, End: 9}}, Handles: []Handle{{Dev: 1, Jiffies: 3}},
		Files: []File{{ID: FileID{1, 2}, Names: []string{"a", "/"}}},
	}

	var buf bytes.Buffer
	if err := Save(&buf, h, b); err != nil {
		t.Fatal(err)
	}

	whole := buf.Bytes()
	gotHeader, got, err := Load(bytes.NewReader(whole))
	if err != nil || !reflect.DeepEqual(h, gotHeader) || !reflect.DeepEqual(b, got) {
		t.Errorf("%v\n%+v\n%+v", err, gotHeader, got)
	}

	for n := range whole {
		if _, _, err := Load(bytes.NewReader(whole[:n])); err == nil {
			t.Fatalf("%d of %d bytes were accepted", n, len(whole))
		}
	}

	if _, _, err := Load(strings.NewReader("plain text")); err == nil || !strings.Contains(err.Error(), "not a saved trace") {
		t.Error(err)
	}
}

// TestSaveFileKeepsExisting: a failed save keeps the existing file, and saving does not follow
// links.
func TestSaveFileKeepsExisting(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "calls.trace")
	if err := SaveFile(path, &Header{Target: "first"}, &Batch{}, true); err != nil {
		t.Fatal(err)
	}

	// JSON cannot represent this time, so the second save fails halfway.
	if err := SaveFile(path, &Header{Target: "second", Began: time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC)}, &Batch{}, true); err == nil {
		t.Fatal("a header with a time before the year 0 was saved")
	}

	if h, _, err := LoadFile(path); err != nil || h.Target != "first" {
		t.Errorf("the existing file was changed: %+v, %v", h, err)
	}

	if err := SaveFile(path, &Header{Target: "other"}, &Batch{}, false); !errors.Is(err, fs.ErrExist) {
		t.Errorf("an existing file was replaced: %v", err)
	}

	link := filepath.Join(dir, "link.trace")
	if err := os.Symlink(path, link); err != nil {
		t.Skip(err)
	}

	if err := SaveFile(link, &Header{Target: "third"}, &Batch{}, true); err == nil {
		t.Error("a trace was saved through a link")
	}

	if h, _, err := LoadFile(path); err != nil || h.Target != "first" {
		t.Errorf("the link's target was overwritten: %+v, %v", h, err)
	}
}

// full is a disk without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

// TestSaveFailsOnce: a full disk is one error, however many events are left.
func TestSaveFailsOnce(t *testing.T) {
	b := &Batch{Calls: make([]Call, 100_000)}
	for i := range b.Calls {
		b.Calls[i].Enter = int64(i) * 7919 * int64(i) // hard to compress
	}
	if err := Save(full{}, &Header{}, b); err == nil || err.Error() != "no space left on device" {
		t.Errorf("%.200v", err)
	}
}
