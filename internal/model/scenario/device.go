package scenario

import (
	"strconv"

	"plimsoll/internal/model/catalog"
)

// DeviceFacts are what the kernels of the deployment's machines would report about its volumes'
// devices, in the form that package record/host uses for real ones: "model.data", "size.data" in
// bytes, and for a stripe "parts.data", its number of volumes. Members' devices begin with the
// member: "size.m1/wal".
func (s *Scenario) DeviceFacts() map[string]string {
	out := map[string]string{}
	for k := 1; k <= s.MemberCount(); k++ {
		for _, v := range s.VolumesOf(k) {
			device := s.DeviceName(k, v.Name)
			t, err := catalog.Type(v.Value.Type)
			if err != nil {
				continue // Parse has refused it
			}
			n := v.Value.Members()
			if v.Value.Size > 0 {
				out["size."+device] = strconv.FormatInt(int64(v.Value.Size)*int64(n), 10)
			}
			if model := t.Model(); model != "" {
				out["model."+device] = model
			}
			if n > 1 {
				out["parts."+device] = strconv.Itoa(n)
			}
		}
	}
	return out
}
