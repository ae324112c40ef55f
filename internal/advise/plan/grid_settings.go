package plan

import (
	"strings"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/kernel"
	"plimsoll/internal/model/scenario"
)

// The grid of settings has a few values each, from the engine's documentation and from measured runs.
// docs/plan.md lists them with the reasons.

// settings returns the axes that cost nothing.
func (m *spaceMaker) settings() []axis {
	var out []axis
	add := func(path string, options ...option) {
		a := axis{path: path, options: []option{{}}, setting: true}
		for _, o := range options {
			if len(o.sets) > 0 && !m.kept(o.sets) && !m.barredValue(o.sets) {
				a.options = append(a.options, o)
			}
		}
		// An axis with only the current value would add nothing to the space.
		if len(a.options) > 1 {
			out = append(out, a)
		}
	}

	if !m.engine.DirectIO {
		add("host.dirty_background_bytes", m.writeback())
		add("host.wbt_lat_usec", m.throttling())
	}

	for _, x := range m.engine.Settings {
		o := option{need: x.Need}
		for _, v := range x.Values {
			o.sets = append(o.sets, scenario.Set{Path: settingPath(m.now, v.Key), Value: v.Value})
		}
		add(settingPath(m.now, x.Name), o)
	}

	add("host.filesystem", m.fileSystem())
	add("host.bandwidth_weighting", m.weighting())
	add("workload.buckets.span", m.spans()...)

	return out
}

// writeback bounds the dirty data in the page cache. The log's fdatasync queues behind everything that
// the kernel writes back in one batch.
func (m *spaceMaker) writeback() option {
	const bytes = 8 * units.MB
	if now := m.now.Host.DirtyBackground; now > 0 && now <= bytes {
		return option{}
	}
	return option{sets: []scenario.Set{{Path: "host.dirty_background_bytes", Value: bytes}}}
}

// throttling turns the kernel's writeback throttling on or off, if the engine was measured with both on
// the current file system and was clearly faster that way. Without a measurement, the decision would
// depend on the model alone.
func (m *spaceMaker) throttling() option {
	h := &m.now.Host
	helps, measured := m.engine.Throttling[string(h.FileSystem)]
	to := 0
	if helps {
		to = kernel.Defaults().WbtLatUsec
	}
	// BFQ disables writeback throttling, so the setting has no effect.
	if !measured || h.Scheduler == kernel.BFQ || helps == (h.WbtLatUsec > 0) {
		return option{}
	}
	return option{sets: []scenario.Set{{Path: "host.wbt_lat_usec", Value: to}}}
}

// weighting favours EBS over the network. It is free on machines that support it.
func (m *spaceMaker) weighting() option {
	i := m.now.Instance()
	if i == nil || !i.Weighting || m.now.Host.BandwidthWeighting != "" {
		return option{}
	}
	return option{sets: []scenario.Set{{Path: "host.bandwidth_weighting", Value: "ebs-1"}}, need: Restart}
}

func (m *spaceMaker) fileSystem() option {
	if m.engine.FixedFileSystem {
		return option{}
	}
	to := kernel.XFS
	if m.now.Host.FileSystem == kernel.XFS {
		to = kernel.Ext4
	}
	return option{sets: []scenario.Set{{Path: "host.filesystem", Value: to}}, need: NewVolume}
}

// membersAxis returns the axis of the number of machines, if the engine can change it. It does not if
// members have their own configuration, because it is unknown what a new member would get.
func (m *spaceMaker) membersAxis() []axis {
	if m.engine.MembersKey == "" || len(m.now.Members) > 0 {
		return nil
	}
	path := settingPath(m.now, m.engine.MembersKey)
	a := axis{path: path, options: []option{{}}}
	for _, n := range m.engine.Members {
		o := option{sets: []scenario.Set{{Path: path, Value: n}}, need: NewVolume, members: n}
		if !m.kept(o.sets) {
			a.options = append(a.options, o)
		}
	}
	return []axis{a}
}

// within reports whether a path is the same as another or a part of it.
func within(path, of string) bool {
	rest, ok := strings.CutPrefix(path, of)
	return ok && (rest == "" || rest[0] == '.')
}
