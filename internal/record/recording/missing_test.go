package recording

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMissingBlock: a closed recording reports a missing block, and a block whose times differ from
// those at closing.
func TestMissingBlock(t *testing.T) {
	for name, c := range map[string]struct {
		harm func(t *testing.T, block string)
		want string
	}{
		"whole": {func(*testing.T, string) {}, ""},
		"gone": {func(t *testing.T, block string) {
			if err := os.RemoveAll(block); err != nil {
				t.Fatal(err)
			}
		}, "is missing"},
		"swapped times": {func(t *testing.T, block string) {
			rewriteMeta(t, block, func(m map[string]any) { m["minTime"], m["maxTime"] = m["maxTime"], m["minTime"] })
		}, "its last sample is before its first"},
		"other times": {func(t *testing.T, block string) {
			rewriteMeta(t, block, func(m map[string]any) { m["minTime"] = 0 })
		}, "when the recording was closed"},
	} {
		dir := t.TempDir()
		d := mustCreate(t, dir, DiskOptions{})
		feed(t, d)
		mustClose(t, d)

		blocks, err := blockDirs(dir)
		if err != nil || len(blocks) != 1 {
			t.Fatalf("%v, %v", blocks, err)
		}

		c.harm(t, blocks[0])

		r, err := Open(dir)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}

		text := ""
		for _, n := range r.Notes() {
			if n.Kind == NoteDamage {
				text += n.Text + "\n"
			}
		}

		if c.want == "" && text != "" || !strings.Contains(text, c.want) {
			t.Errorf("%s: %q, want %q", name, text, c.want)
		}

		mustClose(t, r)
	}
}

// rewriteMeta changes the description of a block.
func rewriteMeta(t *testing.T, block string, change func(map[string]any)) {
	t.Helper()
	file := filepath.Join(block, "meta.json")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}

	var m map[string]any
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()

	if err := dec.Decode(&m); err != nil {
		t.Fatal(err)
	}

	change(m)
	if text, err = json.Marshal(m); err != nil {
		t.Fatal(err)
	}

	mustWrite(t, file, text)
}
