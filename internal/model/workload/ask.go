package workload

import "plimsoll/internal/base/units"

// AskDocuments completes a spec without documents: it sets their size.
func (s *Spec) AskDocuments(size units.Size) {
	if s.Preset == "" && s.Document == nil && s.Buckets == nil {
		s.Document = &Document{Size: size}
	}
}

// AskKeys completes a spec without a number of keys: with n, up to the maximum of a workload.
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
