package plan

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/model/catalog"
	"plimsoll/internal/model/scenario"
)

// A Target is a platform that a layout must be feasible on. It reports what is impossible there, in a
// few words, so that a plan excludes infeasible layouts from the search.
type Target interface {
	// Name is the name that users type: "kubernetes".
	Name() string
	// Volume returns why a volume cannot be changed to another one there, or "" if it can. before is nil
	// for a volume that does not exist yet. If both are the same, the question is whether the platform
	// has volumes like it.
	Volume(before, after *catalog.Order) string
	// Value returns why a value outside the volumes cannot be changed there, or "" if it can.
	Value(path string) string
}

// placed checks that the current deployment can exist on the plan's target.
func (m *spaceMaker) placed() error {
	to := m.opt.To
	if to == nil {
		return nil
	}
	for k := 1; k <= m.members; k++ {
		for _, v := range m.now.VolumesOf(k) {
			if why := to.Volume(&v.Value, &v.Value); why != "" {
				return inputf(m.placedHint(to.Name()), "--platform %s: volumes.%s is %s: %s", to.Name(), v.Name,
					v.Value.Type, why)
			}
		}
	}
	return nil
}

// placedHint says how to plan for a platform that does not support the current volumes. For a cloud
// there are two ways: compare it with the current one, or plan as if nothing were deployed. Both
// translate the machine and the volumes.
func (m *spaceMaker) placedHint(platform string) string {
	if from := Provider(m.now); from != "" && isCloud(platform) {
		return fmt.Sprintf("--platform %[1]s,%[2]s compares the two, with machine and volumes translated; --new --platform %[2]s plans it there "+
			"without a \"now\"; without --platform it is planned where it is, on %[1]s", from, platform)
	}
	return "leave --platform out, or name the platform that has these volumes"
}

// isCloud reports whether a platform is a cloud that rents volumes.
func isCloud(platform string) bool {
	rents := func(t *catalog.VolumeType) bool { return t.Provider == platform }
	return slices.ContainsFunc(catalog.VolumeTypes(), rents)
}

// barred reports whether the target cannot change a volume to another one, and records why. before is
// nil for a new volume.
func (m *spaceMaker) barred(before, after *catalog.Order) bool {
	if m.opt.To == nil {
		return false
	}
	return m.bar(m.opt.To.Volume(before, after))
}

// barredValue is like barred, for assignments outside the volumes.
func (m *spaceMaker) barredValue(sets []scenario.Set) bool {
	if m.opt.To == nil {
		return false
	}
	return slices.ContainsFunc(sets, func(s scenario.Set) bool { return m.bar(m.opt.To.Value(s.Path)) })
}

func (m *spaceMaker) bar(why string) bool {
	if why != "" && !slices.Contains(m.barriers, why) {
		m.barriers = append(m.barriers, why)
	}
	return why != ""
}

// targetStatements state what was excluded as infeasible on the target.
func (p *planner) targetStatements() []Statement {
	if p.opt.To == nil || len(p.space.barriers) == 0 {
		return nil
	}
	return []Statement{{"target", fmt.Sprintf("layouts that are not feasible on %s were excluded: %s",
		p.opt.To.Name(), strings.Join(p.space.barriers, "; ")), []Evidence{}}}
}

// unattachable reports whether a new volume type cannot be attached to the machine, or only after an
// agreement with the provider, and records why.
func (m *spaceMaker) unattachable(kind *catalog.VolumeType) bool {
	on := m.now.Instance()
	why := on.Refuses(kind)
	if why == "" && on.OnRequest(kind) && !m.agreed(on) {
		why = on.Name + " supports it only by agreement with Google"
	}
	if why == "" {
		return false
	}
	if text := kind.Name + ": " + why; !slices.Contains(m.unattached, text) {
		m.unattached = append(m.unattached, text)
	}
	return true
}

// agreed reports whether a volume already has a type that needs the provider's agreement. If so, the
// agreement exists.
func (m *spaceMaker) agreed(on *catalog.InstanceType) bool {
	return slices.ContainsFunc(m.now.VolumesOf(1), func(v scenario.Named[catalog.Order]) bool {
		t, err := catalog.Type(v.Value.Type)
		return err == nil && on.OnRequest(t)
	})
}

// machineStatements state which volume types were excluded because of the machine.
func (p *planner) machineStatements() []Statement {
	if len(p.space.unattached) == 0 {
		return nil
	}
	return []Statement{{"machine-volumes",
		"volume types that cannot be attached to the machine were excluded: " +
			strings.Join(p.space.unattached, "; "), []Evidence{}}}
}
