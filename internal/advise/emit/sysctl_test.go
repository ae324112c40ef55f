package emit_test

import (
	"strings"
	"testing"

	"plimsoll/internal/advise/emit"
)

// The kernel would round 0.4 % to 0, which turns the limit off.
func TestRatioIsWholePercentage(t *testing.T) {
	l := layoutOf(t, "telemetry.yaml", "host.dirty_background_bytes=", "host.dirty_background_ratio=0.4%")
	if _, err := emit.Files(l, []string{"sysctl"}, emit.Options{}); err == nil || !strings.Contains(err.Error(), "whole percentages") {
		t.Errorf("0.4 %%: %v", err)
	}
	files := filesOf(t, layoutOf(t, "telemetry.yaml", "host.dirty_background_bytes=", "host.dirty_background_ratio=4%"), emit.Options{}, "sysctl")
	if text := files["sysctl/90-plimsoll.conf"]; !strings.Contains(text, "vm.dirty_background_ratio = 4\n") {
		t.Errorf("4 %%: %s", text)
	}
}
