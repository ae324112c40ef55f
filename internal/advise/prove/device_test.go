package prove

import (
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
	"plimsoll/internal/testkit"
)

// onHost returns a side with its devices' bytes per second and its sources' facts.
func onHost(word string, facts map[string]string, moved map[string]float64) *side {
	c := rules.NewCase(testkit.Pack(), timeline.Grid{StepMs: 1000, N: 2}, func(of *rules.Signal) (out []timeline.Track) {
		for device, x := range moved {
			if of == rules.DiskMoved {
				out = append(out, timeline.Track{Labels: labels.FromStrings("device", device), Values: []float64{x, x}})
			}
		}
		return out
	})
	c.Facts = facts
	return &side{word: word, c: c}
}

// The facts and rates are those of a recorded rollout on a mongod whose volumes' images were on
// vda. What vda moved afterwards is omitted: loop2, which moved the most there, has no mount in it.
func TestBothSidesAreJudgedByTheDeviceOfTheFiles(t *testing.T) {
	known := map[string]string{
		"dbpath":                                 "/var/tmp/rollout/volumes/data/main",
		"mount./":                                "ext4 rw,relatime,discard /dev/vda",
		"mount./var/tmp/rollout/volumes/data":    "xfs rw,relatime,inode64,logbufs=8,logbsize=32k,noquota /dev/loop0",
		"mount./var/tmp/rollout/volumes/journal": "xfs rw,relatime,inode64,logbufs=8,logbsize=32k,noquota /dev/loop1",
	}

	unknown := map[string]string{"mount./": known["mount./"]}
	container := map[string]string{"mount./": known["mount./"], "dbpath": "/data/db"}
	before := map[string]float64{"vda": 19.0e6, "loop0": 12.0e6}

	after := map[string]float64{"loop2": 88.7e6, "loop0": 11.9e6}
	for _, x := range []struct {
		name                      string
		factsBefore, factsAfter   map[string]string
		bytesBefore, bytesAfter   map[string]float64
		deviceBefore, deviceAfter string
		unsure                    string
	}{
		{"known", known, known, before, after, "loop0", "loop0", ""},
		{"known only before", known, unknown, before, map[string]float64{"vda": 3, "loop0": 1}, "loop0", "loop0", "only the recording before shows which device has the engine's files: loop0 is used for both"},
		{"known only after", unknown, known, before, after, "loop0", "loop0", "only the recording after shows which device has the engine's files: loop0"},
		{"known before, and not recorded after", known, unknown, before, map[string]float64{"sdb": 1}, "loop0", "sdb", ""},
		{"not known", unknown, unknown, before, map[string]float64{"loop2": 30, "loop0": 12}, "loop0", "loop0", "it is unknown which device has the engine's files: vda moved the most bytes before, loop2 after; the device figures are those of loop0 in both"},
		{"a container's folder", container, container, before, after, "vda", "loop2", ""},
		{"another volume", unknown, unknown, map[string]float64{"sdb": 9, "vda": 1}, map[string]float64{"sdc": 9, "vda": 0.5}, "sdb", "sdc", ""},
		{"the device has no figures", known, known, map[string]float64{"vda": 1}, map[string]float64{"vda": 1}, "vda", "vda", ""},
	} {
		t.Run(x.name, func(t *testing.T) {
			a, b := onHost("before", x.factsBefore, x.bytesBefore), onHost("after", x.factsAfter, x.bytesAfter)
			got := chooseDevices(a, b)
			if a.device != x.deviceBefore || b.device != x.deviceAfter {
				t.Errorf("%s before and %s after, want %s and %s", a.device, b.device, x.deviceBefore, x.deviceAfter)
			}
			if !strings.Contains(got, x.unsure) || (got == "") != (x.unsure == "") {
				t.Errorf("it says %q, want %q", got, x.unsure)
			}
		})
	}
}
