package recording

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"
)

var marked = time.Date(2026, 7, 20, 12, 0, 0, 0, time.UTC)

// Marks are kept in order of time during a recording, no matter which process adds them.
func TestMarks(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "rec")
	if err := AddMark(t.TempDir(), Mark{At: marked}); err == nil {
		t.Error("a folder that is not a recording takes a mark")
	}

	d, err := Create(dir, DiskOptions{})
	if err != nil {
		t.Fatal(err)
	}

	var adding sync.WaitGroup
	for i := range 20 {
		adding.Go(func() {
			if err := AddMark(dir, Mark{At: marked.Add(time.Duration(20-i) * time.Second), Text: "a\x1b[2Jb\n\u202ec"}); err != nil {
				t.Error(err)
			}
		})
	}

	adding.Wait()
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}

	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}

	defer r.Close()
	all := r.Marks()
	if len(all) != 20 || !all[0].At.Equal(marked.Add(time.Second)) || all[0].Text != "a [2Jb c" {
		t.Errorf("%d marks: %+v", len(all), all[:min(1, len(all))])
	}
}

// A damaged file costs at most the marks.
func TestMarksOfADamagedFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "rec")
	mustRecord(t, dir)
	file := filepath.Join(dir, MarksName)
	mustWrite(t, file, []byte("{\"at\":\"2026-07-20T12:00:00Z\",\"text\":\"first\"}\nnull\n[1]\n{\"at\":\"9999-01-01T00:00:00Z\"}\n\xff\xfe\n{\"at\":\"2026-07-20T12:0"))

	if err := AddMark(dir, Mark{At: marked.Add(time.Minute)}); err != nil {
		t.Fatal(err)
	}

	all := ReadMarks(dir)
	if len(all) != 2 || all[0].Text != "first" || all[1].Text != MarkTextDefault {
		t.Errorf("%+v", all)
	}

	if err := AddMark(dir, Mark{At: marked, Text: strings.Repeat("x", MarkTextMax+1)}); err == nil {
		t.Error("a text of any length is taken")
	}

	if err := AddMark(dir, Mark{At: time.Date(3000, 1, 1, 0, 0, 0, 0, time.UTC)}); err == nil {
		t.Error("a time of any year is taken")
	}
}

// Marks are limited: the newest are kept, and the file does not grow forever.
func TestMarksAreBounded(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "rec")
	mustRecord(t, dir)
	text := strings.Repeat("y", MarkTextMax)

	var lines strings.Builder
	for i := range 2000 {
		lines.WriteString(`{"at":"` + marked.Add(time.Duration(i)*time.Second).Format(time.RFC3339) + `","text":"` + text + "\"}\n")
	}

	mustWrite(t, filepath.Join(dir, MarksName), []byte(lines.String()))
	if err := AddMark(dir, Mark{At: marked.Add(time.Hour), Text: "last"}); err != nil {
		t.Fatal(err)
	}

	all := ReadMarks(dir)
	info, err := os.Stat(filepath.Join(dir, MarksName))
	if err != nil || len(all) != MarksMax || all[MarksMax-1].Text != "last" || info.Size() > marksBytesFull {
		t.Errorf("%d marks, the last %q, %v bytes, %v", len(all), all[len(all)-1].Text, info.Size(), err)
	}
}

// A link or a pipe in place of the file is refused without waiting.
func TestMarksThroughALink(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "rec")
	mustRecord(t, dir)
	away := filepath.Join(t.TempDir(), "away")
	mustWrite(t, away, []byte("precious"))
	if err := os.Symlink(away, filepath.Join(dir, MarksName)); err != nil {
		t.Skip(err)
	}
	if err := AddMark(dir, Mark{At: marked}); err == nil {
		t.Error("a mark is written through a link")
	}
	if text := mustRead(t, away); string(text) != "precious" {
		t.Errorf("what the link points at is %q", text)
	}
}

func FuzzMarks(f *testing.F) {
	f.Add([]byte("{\"at\":\"2026-07-20T12:00:00Z\",\"text\":\"first\"}\n{\"at\""))
	f.Add([]byte("{\"at\":\"2026-07-20T12:00:00Z\",\"text\":\"\\u001b]0;x\\u0007\"}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		all := parseMarks(text)
		if len(all) > MarksMax {
			t.Errorf("%d marks", len(all))
		}
		for _, m := range all {
			if len(m.Text) > MarkTextMax || m.Text == "" || strings.ContainsFunc(m.Text, unicode.IsControl) {
				t.Errorf("%q", m.Text)
			}
		}
	})
}

// TestMarksSetAtTheSameTime: every acknowledged mark is kept, even while a large file is rewritten.
func TestMarksSetAtTheSameTime(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "rec")
	mustRecord(t, dir)
	old := `{"at":"` + marked.Format(time.RFC3339) + `","text":"` + strings.Repeat("y", MarkTextMax) + "\"}\n"
	mustWrite(t, filepath.Join(dir, MarksName), []byte(strings.Repeat(old, marksBytesFull/len(old)-20)))

	const setters, each = 10, 20
	failed := make([]error, setters)

	var group sync.WaitGroup
	for i := range setters {
		group.Go(func() {
			for k := range each {
				failed[i] = errors.Join(failed[i], AddMark(dir, Mark{At: marked.Add(time.Duration(i*each+k+1) * time.Second), Text: strings.Repeat("z", MarkTextMax)}))
			}
		})
	}

	group.Wait()
	if err := errors.Join(failed...); err != nil {
		t.Fatal(err)
	}

	if all := ReadMarks(dir); len(all) != setters*each+1 {
		t.Errorf("%d marks, want the old one and the %d that were acknowledged", len(all), setters*each)
	}
}
