package host

import (
	"context"
	"maps"
	"slices"
	"testing"

	"plimsoll/internal/record/ebs"
	"plimsoll/internal/record/recording"
)

// What a provider says of the volumes is told once it has answered, and never delays a sample. Where
// there are no volumes, nobody is asked.
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
	before := recording.Source{Facts: map[string]string{"os": "Linux"}}
	d := before
	s.tellDescribed(&d)
	if len(d.Facts) != 1 {
		t.Errorf("before the answer: %v", d.Facts)
	}
	close(answer)
	for s.described != nil {
		s.tellDescribed(&d)
	}
	if want := map[string]string{"os": "Linux", "volume.vol-0123456789abcdef0": "gp2,100GiB"}; !maps.Equal(d.Facts, want) || len(before.Facts) != 1 || asked != 1 || !slices.Equal(s.absent, []string{"a note"}) {
		t.Errorf("%v, %v, %d, %v", d.Facts, before.Facts, asked, s.absent)
	}
	volumeFacts(volumes, d.Facts)
	if d.Facts["volume_id.nvme1n1"] != "vol-0123456789abcdef0" {
		t.Error(d.Facts)
	}
}
