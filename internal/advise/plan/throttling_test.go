package plan

import (
	"slices"
	"testing"
)

// Writeback throttling is tried only if the engine was measured with and without it, and only in the
// direction that was faster.
func TestThrottlingIsTriedWhereItHelped(t *testing.T) {
	for _, x := range []struct {
		engine, host string
		helps        map[string]bool
		want         any // nil: it is not tried
	}{
		{"off where it helps", "{filesystem: xfs, wbt_lat_usec: 0}", map[string]bool{"xfs": true}, 2000},
		{"on where it helps", "{filesystem: xfs}", map[string]bool{"xfs": true}, nil},
		{"on where it harms", "{filesystem: ext4}", map[string]bool{"ext4": false}, 0},
		{"off where it harms", "{filesystem: ext4, wbt_lat_usec: 0}", map[string]bool{"ext4": false}, nil},
		{"not measured", "{filesystem: ext4, wbt_lat_usec: 0}", map[string]bool{"xfs": true}, nil},
		{"bfq", "{filesystem: xfs, wbt_lat_usec: 0, scheduler: bfq}", map[string]bool{"xfs": true}, nil},
	} {
		t.Run(x.engine, func(t *testing.T) {
			now := parsed(t, small, "host="+x.host)
			m := &spaceMaker{now: now, engine: Profile{Throttling: x.helps}, opt: &Options{}, members: 1}
			axes := m.settings()

			i := slices.IndexFunc(axes, func(a axis) bool { return a.path == "host.wbt_lat_usec" })
			if (i >= 0) != (x.want != nil) {
				t.Fatalf("tried: %v, want %v", i >= 0, x.want)
			}

			if i >= 0 && axes[i].options[1].sets[0].Value != x.want {
				t.Errorf("%+v, want %v", axes[i].options[1].sets, x.want)
			}

			m.keep = []string{m.short("throttling")}
			if slices.ContainsFunc(m.settings(), func(a axis) bool { return a.path == "host.wbt_lat_usec" }) {
				t.Error("it is tried although it is to be kept")
			}
		})
	}
}
