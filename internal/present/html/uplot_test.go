package html

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"
)

// The vendored files are the published ones of uPlot 1.6.32, whose package the npm registry lists with
// the integrity
// sha512-KIMVnG68zvu5XXUbC4LQEPnhwOxBuLyW1AHtpm6IKTXImkbLgkMy+jabjLgSLMasNuGGzQm/ep3tOkyTxpiQIw==.
// These are the checksums of its files dist/uPlot.iife.min.js, dist/uPlot.min.css and LICENSE.
func TestUPlotIsWhatWasPublished(t *testing.T) {
	for name, want := range map[string]string{
		"uPlot.iife.min.js": "19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f",
		"uPlot.min.css":     "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04",
		"LICENSE":           "8f989229699b4fe2f1a0432d0e9edc338a8a911e250e2d1b01ecd770a5f5b1bd",
	} {
		sum := sha256.Sum256([]byte(asset("uplot/" + name)))
		if got := hex.EncodeToString(sum[:]); got != want {
			t.Errorf("%s: SHA-256 %s, published with %s", name, got, want)
		}
	}
}
