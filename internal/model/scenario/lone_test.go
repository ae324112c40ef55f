package scenario_test

import (
	"errors"
	"strings"
	"testing"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/scenario"
)

func TestParseVolumes(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		sets []string
		want string // of the volume called data
	}{
		"lone":              {"type: gp3\nsize: 10GiB\niops: 4000\n", nil, "4,000 IOPS"},
		"after a document":  {"---\n# of ours\ntype: gp3\nsize: 10GiB\n", nil, "3,000 IOPS"},
		"byte order mark":   {"\ufefftype: gp3\nsize: 10GiB\n", nil, "3,000 IOPS"},
		"flow":              {"{type: gp3, size: 10GiB}", nil, "3,000 IOPS"},
		"set":               {"type: gp3\nsize: 10GiB\n", []string{"iops=5000"}, "5,000 IOPS"},
		"set by the path":   {"type: gp3\nsize: 10GiB\n", []string{"volumes.data.iops=5000"}, "5,000 IOPS"},
		"scenario":          {"plimsoll: 1\nvolumes: {data: {type: gp3, size: 10GiB, iops: 4500}}\nengine: {mongodb: {}}\nworkload: {preset: telemetry, keys: {count: 1000}}\n", nil, "4,500 IOPS"},
		"on an instance":    {"type: gp3\nsize: 10GiB\ninstance: m5.large\n", nil, "3,000 IOPS"},
		"instance assigned": {"type: gp3\nsize: 10GiB\n", []string{"instance=m5.large"}, "3,000 IOPS"},
	} {
		s, err := language.NewFile("volume.yaml", []byte(c.text)).ParseVolumes(c.sets)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}

		data := s.VolumesOf(1).Get("data")
		if data == nil || data.Size != 10*units.GiB {
			t.Errorf("%s: %+v", name, s.Volumes)
			continue
		}

		gives, err := data.Gives(s.Instance())
		if err != nil || !strings.Contains(strings.Join(gives, "; "), c.want) {
			t.Errorf("%s: gives %q, %v", name, gives, err)
		}

		if on := strings.Contains(name, "instance"); on != (s.Instance() != nil) {
			t.Errorf("%s: instance %v", name, s.Instance())
		}
	}
}

// scenario.Problems of a lone volume have their positions in the file, and its own keys.
func TestLoneProblems(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		sets []string
		want string
	}{
		"a limit":       {"type: gp3\nsize: 10GiB\niops: 90000\n", nil, "v.yaml:3:7: iops: 90,000 IOPS"},
		"a key":         {"type: gp3\nsize: 10GiB\niosp: 9\n", nil, "v.yaml:3:1: iosp: unknown key; did you mean iops?"},
		"a type":        {"type: gp9\nsize: 10GiB\n", nil, "v.yaml:1:7: type"},
		"an instance":   {"type: gp3\nsize: 10GiB\ninstance: m5.lrage\n", nil, "v.yaml:3:11: instance"},
		"an assignment": {"type: gp3\nsize: 10GiB\n", []string{"iops=90000"}, "iops: 90,000 IOPS"},
		"no assignment": {"type: gp3\nsize: 10GiB\n", []string{"iops"}, "is not an assignment"},
		"an empty one":  {"type: gp3\nsize: 10GiB\n", []string{""}, "is not an assignment"},
	} {
		_, err := language.NewFile("v.yaml", []byte(c.text)).ParseVolumes(c.sets)
		var problems scenario.Problems
		if !errors.As(err, &problems) || len(problems) != 1 || !strings.Contains(problems[0].String(), c.want) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if strings.Contains(problems[0].String(), "volumes.data.iops:") || strings.Contains(problems[0].String(), "host.") {
			t.Errorf("%s: keys nobody wrote: %v", name, err)
		}
	}
}
