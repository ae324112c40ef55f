package catalog

import (
	"cmp"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/volume"
)

// Each type's latency names a dated source, which is either its own or declared to be another type's.
func TestLatencyBasis(t *testing.T) {
	year := regexp.MustCompile(`\b20[12]\d\b`)
	owner := map[*volume.Calibration]string{}
	for _, v := range VolumeTypes() {
		said := v.LatencyRestsOn()
		switch v.LatencyBasis {
		case "":
			if v.Read != nil || v.Write != nil || said != "" {
				t.Errorf("%s has a latency that rests on nothing", v.Name)
			}
			continue
		case Assumed:
			if !strings.Contains(v.LatencyNote, "assumed") || !strings.Contains(said, v.LatencyNote) {
				t.Errorf("%s's latency is assumed, and says %q, %q", v.Name, v.LatencyNote, said)
			}
			continue
		}

		for _, c := range []*volume.Calibration{v.Read, v.Write} {
			if !year.MatchString(c.Source) {
				t.Errorf("%s's latency is %s, and its source has no date: %q", v.Name, v.LatencyBasis, c.Source)
			}
			if who := owner[c]; who != "" && who != v.Name {
				t.Errorf("%s's latency is %s, and is %s's", v.Name, v.LatencyBasis, who)
			}
			owner[c] = v.Name
		}

		if promised := strings.Contains(v.Write.Source, "documentation") || strings.Contains(v.Write.Source, "user guide"); promised != (v.LatencyBasis == Promised) {
			t.Errorf("%s's latency is %s, by %q", v.Name, v.LatencyBasis, v.Write.Source)
		}

		if other := v.Provider == "azure" || v.Provider == "gcp"; other && v.LatencyBasis == Measured && v.Write.Spread == "" {
			t.Errorf("%s's latency does not say how good it is", v.Name)
		}

		if by := cmp.Or(v.Write.By, v.Write.Source); !strings.Contains(said, by) || !year.MatchString(by) {
			t.Errorf("%s does not name its source: %q", v.Name, said)
		}
	}
}

// A cheaper kind of disk has at least the latency of a better one of its family.
func TestLatencyOrder(t *testing.T) {
	for _, pair := range [][2]string{{"ultra", "premium-v2"}, {"premium-v2", "premium-ssd"}, {"hyperdisk-extreme", "hyperdisk-balanced"}, {"hyperdisk-balanced", "pd-ssd"}, {"pd-ssd", "pd-balanced"}, {"io2", "gp3"}} {
		better, err := Type(pair[0])
		if err != nil {
			t.Fatal(err)
		}
		worse, err := Type(pair[1])
		if err != nil {
			t.Fatal(err)
		}
		if b, w := better.Write.Latency().Mean(), worse.Write.Latency().Mean(); b > w {
			t.Errorf("%s takes %v, and %s %v", better.Name, b, worse.Name, w)
		}
	}
}

// The table in the documentation is the catalogue's.
func TestLatencyTable(t *testing.T) {
	page, err := os.ReadFile("../../../docs/research/volume-latency.md")
	if err != nil {
		t.Fatal(err)
	}

	row := func(v *VolumeType, what string, c *volume.Calibration) {
		l := c.Latency()
		ms := func(share float64) float64 { return l.Quantile(units.Ratio(share)).Std().Seconds() * 1e3 }
		want := fmt.Sprintf("| `%s`%s | %s | %.2g | %.2g |", v.Name, what, v.LatencyBasis, ms(.5), ms(.99))
		if !strings.Contains(string(page), "\n"+want) {
			t.Errorf("docs/research/volume-latency.md has no row %s", want)
		}
	}

	for _, v := range VolumeTypes() {
		switch {
		case v.LatencyBasis == "":
		case v.Read == v.Write:
			row(v, "", v.Write)
		default:
			row(v, ", write", v.Write)
			row(v, ", read", v.Read)
		}
	}
}
