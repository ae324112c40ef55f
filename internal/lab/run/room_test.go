//go:build linux

package run

import (
	"strings"
	"testing"
)

// Documents that do not fit into memory are refused before mounting, with advice.
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
