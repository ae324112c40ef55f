package host

import (
	"context"
	"maps"
	"slices"

	"plimsoll/internal/record/ebs"
)

// A description holds what a provider reports about this machine and its volumes.
type description struct {
	facts map[string]string
	notes []string
}

// describer queries a provider in the background, because it may take seconds. Without volumes
// there is nothing to query.
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

// addDescribed adds the provider's description once it has arrived.
func (s *sampler) addDescribed() {
	select {
	case answer := <-s.described:
		s.described = nil
		if s.said == nil {
			s.said = map[string]string{}
		}
		maps.Copy(s.said, answer.facts)
		s.absent = append(s.absent, answer.notes...)
	default:
	}
}

// attached adds volumes that were attached since the last call, and queries the provider about
// them.
func (s *sampler) attached(found []ebs.Volume) {
	var fresh []ebs.Volume
	for _, v := range found {
		if !slices.Contains(s.ebs, v) {
			fresh = append(fresh, v)
		}
	}
	if len(fresh) == 0 || s.described != nil {
		return // nothing new, or a query is still running: then the next call adds them
	}
	s.ebs = found
	if s.describe != nil {
		s.described = s.describe(fresh)
	}
}

// volumeFacts adds which volume a device is: "volume_id.nvme1n1" = "vol-0123456789abcdef0".
func volumeFacts(volumes []ebs.Volume, f map[string]string) {
	for _, v := range volumes {
		f["volume_id."+v.Device] = v.ID
	}
}
