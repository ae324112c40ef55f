package scenario

import (
	"strconv"

	"plimsoll/internal/model/catalog"
	"plimsoll/internal/model/kernel"
)

// DeviceFacts are what the kernels of the deployment's machines would report about its volumes'
// devices, in the form that package record/host uses for real ones: "model.data", "size.data" in
// bytes, and for a stripe "parts.data", its number of volumes; its scheduler and its writeback
// throttling. Members' devices begin with the member: "size.m1/wal". The file system is the same on
// all: "filesystem".
func (s *Scenario) DeviceFacts() map[string]string {
	out := map[string]string{"filesystem": string(s.Host.FileSystem)}
	for k := 1; k <= s.MemberCount(); k++ {
		for _, v := range s.VolumesOf(k) {
			device := s.DeviceName(k, v.Name)
			out["scheduler."+device] = string(s.Host.Scheduler)

			// BFQ turns writeback throttling off (Linux, block/bfq-iosched.c).
			if s.Host.Scheduler != kernel.BFQ {
				out["wbt_lat_usec."+device] = strconv.Itoa(s.Host.WbtLatUsec)
			}

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
