//go:build linux

package run

import (
	"strings"
	"testing"
)

// Documents that no memory holds are refused before anything is mounted, with what to do.
func TestImagesLargerThanMemory(t *testing.T) {
	text := strings.NewReplacer("size: 256MiB", "size: 60TiB", "count: 50", "count: 400000000000").Replace(appends)
	sc, opt := options(t, text, &fileLog{})
	opt.Progress = func(p Progress) {
		if p.Phase == "mounting volumes" {
			t.Error("it was mounted")
		}
	}
	_, err := Run(t.Context(), sc, opt)
	if err == nil || !strings.Contains(err.Error(), "40.0 TB of documents do not fit into the volumes' images") || !strings.Contains(err.Error(), "--images DIR") {
		t.Errorf("%v", err)
	}
}
