package host

import (
	"context"
	"maps"
	"slices"
	"testing"

	"plimsoll/internal/record/ebs"
)

// The provider's description is added once it has arrived, and never delays a sample. Without volumes
// there is no query.
func TestDescriber(t *testing.T) {
	answer := make(chan struct{})
	asked := 0
	m := &machine{describe: func(_ context.Context, volumes []string) (map[string]string, []string) {
		asked++
		<-answer
		return map[string]string{"volume." + volumes[0]: "gp2,100GiB"}, []string{"a note"}
	}}
	if m.describer(t.Context(), nil) != nil || (&machine{}).describer(t.Context(), []ebs.Volume{{}}) != nil {
		t.Error("somebody is asked about nothing")
	}

	volumes := []ebs.Volume{{Device: "nvme1n1", ID: "vol-0123456789abcdef0"}}
	s := &sampler{described: m.describer(t.Context(), volumes), ebs: volumes}
	s.addDescribed()

	if len(s.said) != 0 {
		t.Errorf("before the answer: %v", s.said)
	}

	close(answer)
	for s.described != nil {
		s.addDescribed()
	}

	if want := map[string]string{"volume.vol-0123456789abcdef0": "gp2,100GiB"}; !maps.Equal(s.said, want) || asked != 1 || !slices.Equal(s.absent, []string{"a note"}) {
		t.Errorf("%v, %d, %v", s.said, asked, s.absent)
	}

	f := map[string]string{}
	volumeFacts(volumes, f)
	if f["volume_id.nvme1n1"] != "vol-0123456789abcdef0" {
		t.Error(f)
	}
}

// TestVolumesAttachedLater: a volume that is attached during the recording is queried too, once.
func TestVolumesAttachedLater(t *testing.T) {
	var asked [][]string
	s := newSampler(t.TempDir(), nil)
	s.describe = func(volumes []ebs.Volume) <-chan description {
		out := make(chan description, 1)
		d := description{facts: map[string]string{}}
		var ids []string
		for _, v := range volumes {
			ids = append(ids, v.ID)
			d.facts["volume."+v.ID] = "gp3"
		}
		asked = append(asked, ids)
		out <- d
		return out
	}

	first, second := ebs.Volume{Device: "nvme1n1", ID: "vol-1"}, ebs.Volume{Device: "nvme2n1", ID: "vol-2"}
	for _, found := range [][]ebs.Volume{{first}, {first}, {first, second}, {first, second}} {
		s.attached(found)
		s.addDescribed()
	}

	if len(asked) != 2 || !slices.Equal(asked[0], []string{"vol-1"}) || !slices.Equal(asked[1], []string{"vol-2"}) {
		t.Errorf("asked about %v, want vol-1 and then vol-2", asked)
	}

	if len(s.said) != 2 || len(s.ebs) != 2 {
		t.Errorf("the provider said %v of the volumes %v", s.said, s.ebs)
	}
}
