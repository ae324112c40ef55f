package workload

import "plimsoll/internal/base/units"

// AskDocuments completes a spec that says nothing of its documents: they have a size.
func (s *Spec) AskDocuments(size units.Size) {
	if s.Preset == "" && s.Document == nil && s.Buckets == nil {
		s.Document = &Document{Size: size}
	}
}

// AskKeys completes a spec that does not say how many keys there are: n, as far as a workload may have so many.
func (s *Spec) AskKeys(n uint64) {
	if s.Preset != "" || s.WorkingSet != 0 || s.Buckets != nil {
		return
	}
	keys := Keys{}
	if s.Keys != nil {
		keys = *s.Keys
	}
	if keys.Count == 0 {
		keys.Count = Count(min(n, uint64(CountMax)))
	}
	s.Keys = &keys
}
