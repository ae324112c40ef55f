package host

import (
	"context"
	"maps"

	"plimsoll/internal/record/ebs"
	"plimsoll/internal/record/recording"
)

// A description is what a provider said of this machine and its volumes.
type description struct {
	facts map[string]string
	notes []string
}

// describer asks a provider, beside the sampling: it may take seconds. There is nothing to ask on a
// machine without volumes.
func (m *machine) describer(ctx context.Context, volumes []ebs.Volume) <-chan description {
	if m.describe == nil || len(volumes) == 0 {
		return nil
	}
	ids := make([]string, len(volumes))
	for i, v := range volumes {
		ids[i] = v.ID
	}
	out := make(chan description, 1)
	go func() {
		var d description
		d.facts, d.notes = m.describe(ctx, ids)
		out <- d
	}()
	return out
}

// tellDescribed adds what the provider said, once it has.
func (s *sampler) tellDescribed(d *recording.Source) {
	select {
	case said := <-s.described:
		s.described = nil
		facts := maps.Clone(d.Facts) // who got the description before may be reading it
		maps.Copy(facts, said.facts)
		d.Facts = facts
		s.absent = append(s.absent, said.notes...)
	default:
	}
}

// volumeFacts tell which volume a device is: "volume_id.nvme1n1" = "vol-0123456789abcdef0".
func volumeFacts(volumes []ebs.Volume, f map[string]string) {
	for _, v := range volumes {
		f["volume_id."+v.Device] = v.ID
	}
}
