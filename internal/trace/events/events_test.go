package events

import "testing"

func TestElsewhere(t *testing.T) {
	for _, x := range []struct {
		folders []string
		file    string
		want    bool
	}{
		{nil, "/a/b", false},
		{[]string{"/a"}, "/a/b", false},
		{[]string{"/a"}, "/ab", true},
		{[]string{"/a"}, "", false},
		{[]string{"/a", "/c/upper"}, "/c/upper/b", false},
		{[]string{"/"}, "/a/b", false},
	} {
		if got := (&Header{Folders: x.folders}).Elsewhere(x.file); got != x.want {
			t.Errorf("%q in %q: %t", x.file, x.folders, got)
		}
	}
}

func TestMountName(t *testing.T) {
	for path, want := range map[string]string{"/": "/dir/file", "/mnt": "/mnt/dir/file"} {
		if got := (&Mount{Path: path}).Name([]string{"file", "dir", "/"}); got != want {
			t.Errorf("%s: %q", path, got)
		}
	}
	if got := (&Mount{Path: "/mnt"}).Name([]string{"file", "dir"}); got != "" {
		t.Errorf("names that do not reach the root: %q", got)
	}
}
