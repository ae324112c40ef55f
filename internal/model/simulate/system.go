package simulate

import (
	"fmt"
	"strconv"

	"plimsoll/internal/base/vtime"
	etcd "plimsoll/internal/engine/etcd/model"
	iris "plimsoll/internal/engine/iris/model"
	wiredtiger "plimsoll/internal/engine/mongodb/model"
	postgres "plimsoll/internal/engine/postgres/model"
	streams "plimsoll/internal/engine/streams/model"
	"plimsoll/internal/model/engine"
	"plimsoll/internal/model/kernel"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/volume"
)

// A system is a scenario's models, put together.
type system struct {
	clock   vtime.Clock
	hosts   []*kernel.Host
	labels  [][]string // of each host's series
	devices []*kernel.Device
	engine  engine.Model
}

// build puts a scenario together.
func build(sc *scenario.Scenario, client engine.Client) (*system, error) {
	s := &system{}
	members := sc.MemberCount()
	var of []etcd.Member
	for k := 1; k <= members; k++ {
		host := kernel.NewHost(sc.Host.Config, &s.clock, sc.Seed)
		label := func(name string) string { return name }
		var own []string
		if sc.Engine.Etcd != nil {
			member := "m" + strconv.Itoa(k)
			label = func(name string) string { return member + "/" + name }
			own = []string{"instance", member}
		}
		volumes, err := sc.Build(k, label)
		if err != nil {
			return nil, err
		}
		m := etcd.Member{Host: host}
		for i, v := range sc.VolumesOf(k) {
			d := host.Attach(label(v.Name), volumes[i])
			s.devices = append(s.devices, d)
			switch v.Name {
			case "wal":
				m.WAL = d
			case "data":
				m.Data = d
			}
		}
		if m.WAL == nil {
			m.WAL = m.Data
		}
		of = append(of, m)
		s.hosts, s.labels = append(s.hosts, host), append(s.labels, own)
	}
	env := engine.Env{Clock: &s.clock, Host: s.hosts[0], Seed: sc.Seed, Client: client, Volumes: s.devices}
	var err error
	s.engine, err = makeEngine(&sc.Engine, &env, of)
	if err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	return s, nil
}

// mattered are the limits of each volume that ever decided when a request passed.
func (s *system) mattered() [][volume.Limits]bool {
	out := make([][volume.Limits]bool, len(s.devices))
	for i, d := range s.devices {
		out[i] = d.Volume().State(s.clock.Now()).Mattered
	}
	return out
}

func makeEngine(e *scenario.Engine, env *engine.Env, members []etcd.Member) (engine.Model, error) {
	switch {
	case e.WiredTiger != nil:
		return wiredtiger.New(*e.WiredTiger, *env)
	case e.Etcd != nil:
		return etcd.New(*e.Etcd, env, members)
	case e.Postgres != nil:
		return postgres.New(*e.Postgres, *env)
	case e.IRIS != nil:
		return iris.New(*e.IRIS, env)
	default:
		return streams.New(*e.Streams, *env)
	}
}
