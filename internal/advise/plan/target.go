package plan

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/model/catalog"
	"plimsoll/internal/model/scenario"
)

// A Target is where a layout is to be carried out. It says what is impossible there, in a few
// words, so that a plan searches nothing that cannot be carried out.
type Target interface {
	// Name is as a person writes it: "kubernetes".
	Name() string
	// Volume says why a volume cannot become another one there, "" if it can. before is nil for a
	// volume that does not exist yet. If both are the same, it says whether there are such volumes.
	Volume(before, after *catalog.Order) string
	// Value says why a value that is not a volume's cannot be changed there, "" if it can.
	Value(path string) string
}

// placed checks that what is deployed now can be where the plan is to be carried out.
func (m *spaceMaker) placed() error {
	to := m.opt.To
	if to == nil {
		return nil
	}
	for k := 1; k <= m.members; k++ {
		for _, v := range m.now.VolumesOf(k) {
			if why := to.Volume(&v.Value, &v.Value); why != "" {
				return inputf("leave --to out, or name where the volumes are", "--to %s: volumes.%s is %s: %s", to.Name(),
					v.Name, v.Value.Type, why)
			}
		}
	}
	return nil
}

// barred reports whether a volume cannot become another one where the plan is to be carried out,
// and remembers why. before is nil for a new volume.
func (m *spaceMaker) barred(before, after *catalog.Order) bool {
	if m.opt.To == nil {
		return false
	}
	return m.bar(m.opt.To.Volume(before, after))
}

// barredValue is barred for assignments that change no volume.
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

// targetStatements say what was left out because it cannot be carried out.
func (p *planner) targetStatements() []Statement {
	if p.opt.To == nil || len(p.space.barriers) == 0 {
		return nil
	}
	return []Statement{{"target", fmt.Sprintf("layouts that cannot be carried out on %s were left out: %s",
		p.opt.To.Name(), strings.Join(p.space.barriers, "; ")), []Evidence{}}}
}

// unattachable reports whether the machine cannot have volumes of a type that it has none of yet, or only
// after an agreement with its provider, and remembers why.
func (m *spaceMaker) unattachable(kind *catalog.VolumeType) bool {
	on := m.now.Instance()
	why := on.Refuses(kind)
	if why == "" && on.OnRequest(kind) && !m.agreed(on) {
		why = on.Name + " takes it only after an agreement with Google"
	}
	if why == "" {
		return false
	}
	if text := kind.Name + ": " + why; !slices.Contains(m.unattached, text) {
		m.unattached = append(m.unattached, text)
	}
	return true
}

// agreed reports whether a volume is already of a type that the machine takes only after an agreement.
func (m *spaceMaker) agreed(on *catalog.InstanceType) bool {
	return slices.ContainsFunc(m.now.VolumesOf(1), func(v scenario.Named[catalog.Order]) bool {
		t, err := catalog.Type(v.Value.Type)
		return err == nil && on.OnRequest(t)
	})
}

// machineStatements say which types of volumes were left out because of the machine.
func (p *planner) machineStatements() []Statement {
	if len(p.space.unattached) == 0 {
		return nil
	}
	return []Statement{{"machine-volumes", "volumes were left out that the machine does not take: " +
		strings.Join(p.space.unattached, "; "), []Evidence{}}}
}
