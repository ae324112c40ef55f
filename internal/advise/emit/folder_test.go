package emit

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// tree returns the contents of a folder, by path.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(p)
		name, _ := filepath.Rel(dir, p)
		out[filepath.ToSlash(name)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	return out
}

func open(t *testing.T, dir string) *Folder {
	t.Helper()
	f, err := OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// The life cycle of a folder: written, written again, edited, forced.
func TestFolder(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "deep", "layout")
	first := []File{{"README.md", []byte("one\n"), plain}, {"aws/volumes.sh", []byte("#!/bin/bash\n"), executable}}
	second := []File{{"README.md", []byte("two\n"), plain}, {"sysctl/90.conf", []byte("x = 1\n"), plain}}

	if err := open(t, dir).Write(first, false); err != nil {
		t.Fatal(err)
	}

	if got := tree(t, dir); got["README.md"] != "one\n" || got["aws/volumes.sh"] == "" || len(got) != 3 {
		t.Errorf("the folder is %v", got)
	}

	if info, err := os.Stat(filepath.Join(dir, "aws/volumes.sh")); err != nil || info.Mode().Perm()&0o100 == 0 {
		t.Errorf("the script is %v, %v", info.Mode(), err)
	}

	// Other files stay; files that are no longer written are removed.
	put(t, filepath.Join(dir, "notes.txt"), "mine")
	if err := open(t, dir).Write(second, false); err != nil {
		t.Fatal(err)
	}

	got := tree(t, dir)
	if got["README.md"] != "two\n" || got["notes.txt"] != "mine" || got["aws/volumes.sh"] != "" || len(got) != 4 {
		t.Errorf("the folder is %v", got)
	}

	// With an edited file, nothing is written.
	put(t, filepath.Join(dir, "sysctl/90.conf"), "x = 2\n")
	before := tree(t, dir)

	for _, files := range [][]File{first, second} {
		err := open(t, dir).Write(files, false)
		if err == nil || !strings.Contains(err.Error(), "edited since emit wrote it, and not overwritten: sysctl/90.conf") {
			t.Errorf("over an edited file: %v", err)
		}
	}

	if after := tree(t, dir); len(after) != len(before) || after["sysctl/90.conf"] != "x = 2\n" || after["README.md"] != "two\n" {
		t.Errorf("the folder is %v", after)
	}

	want := "--- a/README.md\n+++ b/README.md\n@@ -1,1 +1,1 @@\n-two\n+one\n--- /dev/null\n+++ b/aws/volumes.sh\n@@ -0,0 +1,1 @@\n+#!/bin/bash\n--- a/sysctl/90.conf\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-x = 2\n"
	if got := open(t, dir).Diff(first); got != want {
		t.Errorf("the difference is\n%s\nwant\n%s", got, want)
	}

	if err := open(t, dir).Write(first, true); err != nil {
		t.Fatal(err)
	}

	if got := tree(t, dir); got["README.md"] != "one\n" || got["notes.txt"] != "mine" || got["sysctl/90.conf"] != "" {
		t.Errorf("the folder is %v", got)
	}

	// Nothing else is left in the folder.
	if entries, err := os.ReadDir(filepath.Dir(dir)); err != nil || len(entries) != 1 {
		t.Errorf("beside it are %v, %v", entries, err)
	}

	// An edit that results in the text to be written does not count.
	put(t, filepath.Join(dir, "README.md"), "two\n")
	if err := open(t, dir).Write(second, false); err != nil {
		t.Errorf("over the same text: %v", err)
	}
}

// Emit does not use foreign folders, with or without --force.
func TestForeignFolders(t *testing.T) {
	root := t.TempDir()
	at := func(name string) string { return filepath.Join(root, name) }
	for _, name := range []string{"theirs", "empty", "damaged", "linked", "here"} {
		if err := os.Mkdir(at(name), 0o755); err != nil {
			t.Fatal(err)
		}
	}

	put(t, at("theirs/data"), "x")
	put(t, at("damaged/"+manifestName), "{")
	put(t, at("linked/"+manifestName), `{"version":1}`)
	put(t, at("file"), "x")

	if err := os.Symlink("/etc/passwd", at("linked/passwd")); err != nil {
		t.Fatal(err)
	}

	if err := os.Symlink(at("nowhere"), at("dangling")); err != nil {
		t.Fatal(err)
	}

	t.Chdir(root)
	for name, says := range map[string]string{
		"theirs": "emit did not write", "damaged": "damaged", "linked": "is not a regular file", "file": "not a folder", "dangling": "dangling symbolic link", ".": "emit did not write",
	} {
		if _, err := OpenFolder(name); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", name, err, says)
		}
	}

	t.Chdir(at("here"))
	for _, name := range []string{"../empty", "."} {
		if err := open(t, name).Write([]File{{"a", []byte("a"), plain}}, false); err != nil {
			t.Errorf("into the folder %s: %v", name, err)
		}
	}
}

// If the folder is not writable, it stays unchanged, without leftovers.
func TestFolderAsAWhole(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "layout")
	if err := open(t, dir).Write([]File{{"a", []byte("one"), plain}}, false); err != nil {
		t.Fatal(err)
	}

	// The second file cannot be created: a file has the name of its folder.
	err := open(t, dir).Write([]File{{"a", []byte("two"), plain}, {"a/b", []byte("b"), plain}}, false)
	if err == nil {
		t.Fatal("a file within a file was written")
	}

	if got := tree(t, dir); got["a"] != "one" {
		t.Errorf("the folder is %v", got)
	}

	if entries, err := os.ReadDir(root); err != nil || len(entries) != 1 {
		t.Errorf("left are %v, %v", entries, err)
	}
}

// Applying a diff gives the new text, reversing it the old one; equal texts have no diff.
func TestDiffIsTheDifference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.SampledFrom([]string{"a\n", "b\n", "c\n", "\n"})
		before := strings.Join(rapid.SliceOfN(line, 0, 30).Draw(t, "before"), "")
		after := strings.Join(rapid.SliceOfN(line, 0, 30).Draw(t, "after"), "")

		diff := unified("f", []byte(before), []byte(after), true, true)
		if (diff == "") != (before == after) {
			t.Fatalf("the diff is %q", diff)
		}

		if got := patchText(t, before, diff); got != after {
			t.Fatalf("applied, it gives %q, want %q", got, after)
		}

		if got := patchText(t, after, unified("f", []byte(after), []byte(before), true, true)); got != before {
			t.Fatalf("reversed, it gives %q, want %q", got, before)
		}
	})
}

// A diff of long, completely different files is fast; a quadratic algorithm would not be.
func TestDiffOfLongFiles(t *testing.T) {
	var before, after strings.Builder
	for n := range 100_000 {
		fmt.Fprintf(&before, "%d\n", n)
		fmt.Fprintf(&after, "%d\n", -n-1)
	}
	diff := unified("f", []byte(before.String()), []byte(after.String()), true, true)
	if n := strings.Count(diff, "\n"); n != 200_003 {
		t.Errorf("the diff has %d lines", n)
	}
}

// patchText applies a unified diff by its hunks' positions alone.
func patchText(t *rapid.T, before, diff string) string {
	old, at := slices.Collect(strings.Lines(before)), 0
	var out []string
	for l := range strings.Lines(diff) {
		switch {
		case strings.HasPrefix(l, "--- "), strings.HasPrefix(l, "+++ "):
		case strings.HasPrefix(l, "@@ "):
			from, n := 0, 0
			if _, err := fmt.Sscanf(l, "@@ -%d,%d", &from, &n); err != nil {
				t.Fatal(err)
			}
			if n > 0 {
				from--
			}
			out = append(out, old[at:from]...)
			at = from
		case l[0] == '+':
			out = append(out, l[1:])
		default:
			if old[at] != l[1:] {
				t.Fatalf("line %d is %q, the diff has %q", at, old[at], l)
			}
			if l[0] == ' ' {
				out = append(out, old[at])
			}
			at++
		}
	}

	return strings.Join(append(out, old[at:]...), "")
}
