package host

import (
	"context"
	"maps"
	"slices"

	"plimsoll/internal/record/ebs"
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

// tellDescribed takes what the provider said, once it has.
func (s *sampler) tellDescribed() {
	select {
	case said := <-s.described:
		s.described = nil
		if s.said == nil {
			s.said = map[string]string{}
		}
		maps.Copy(s.said, said.facts)
		s.absent = append(s.absent, said.notes...)
	default:
	}
}

// attached adds volumes that were attached meanwhile, and asks the provider about them.
func (s *sampler) attached(found []ebs.Volume) {
	var fresh []ebs.Volume
	for _, v := range found {
		if !slices.Contains(s.ebs, v) {
			fresh = append(fresh, v)
		}
	}
	if len(fresh) == 0 || s.described != nil {
		return // the provider is being asked: the next time
	}
	s.ebs = found
	if s.describe != nil {
		s.described = s.describe(fresh)
	}
}

// volumeFacts tell which volume a device is: "volume_id.nvme1n1" = "vol-0123456789abcdef0".
func volumeFacts(volumes []ebs.Volume, f map[string]string) {
	for _, v := range volumes {
		f["volume_id."+v.Device] = v.ID
	}
}
