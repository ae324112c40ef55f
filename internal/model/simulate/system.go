package simulate

import (
	"fmt"

	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/database"
	"plimsoll/internal/model/kernel"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/volume"
)

// A system holds a scenario's models, connected to each other.
type system struct {
	clock   vtime.Clock
	hosts   []*kernel.Host
	labels  [][]string // of each host's series
	devices []*kernel.Device
	engine  database.Model

	reporting   *database.Reporting
	dirtyMetric string
}

// build assembles a scenario whose clients have that many connections.
func build(sc *scenario.Scenario, connections int, client database.Client) (*system, error) {
	s := &system{reporting: sc.Engine.Reporting, dirtyMetric: sc.Engine.DirtyMetric}
	var members []database.Member
	for k := 1; k <= sc.MemberCount(); k++ {
		label := func(name string) string { return sc.DeviceName(k, name) }
		volumes, err := sc.Build(k, label)
		if err != nil {
			return nil, err
		}

		m := database.Member{Name: sc.MemberName(k), Host: kernel.NewHost(sc.Host.Config, &s.clock, sc.Seed)}
		for i, v := range sc.VolumesOf(k) {
			m.Volumes = append(m.Volumes, m.Host.Attach(label(v.Name), volumes[i]))
		}

		var own []string
		if m.Name != "" {
			own = []string{"instance", m.Name}
		}

		members = append(members, m)
		s.devices = append(s.devices, m.Volumes...)
		s.hosts, s.labels = append(s.hosts, m.Host), append(s.labels, own)
	}

	env := &database.Env{Clock: &s.clock, Host: s.hosts[0], Seed: sc.Seed, Client: client, Volumes: s.devices,
		Members: members, Connections: connections}
	var err error
	if s.engine, err = sc.Engine.NewModel(sc.Engine.Config, env); err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}

	return s, nil
}

// mattered returns, for each volume, the limits that ever decided when a request passed.
func (s *system) mattered() [][volume.Limits]bool {
	out := make([][volume.Limits]bool, len(s.devices))
	for i, d := range s.devices {
		out[i] = d.Volume().State(s.clock.Now()).Mattered
	}
	return out
}
