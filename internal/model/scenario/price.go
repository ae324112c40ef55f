package scenario

import "plimsoll/internal/base/units"

// Priced reports which prices are known.
type Priced struct{ Volumes, Instances bool }

// Monthly is the monthly price of all members' volumes and instances, in the default region of each cloud.
func (s *Scenario) Monthly() (volumes, instances units.USD, known Priced) {
	known = Priced{Volumes: true, Instances: s.instance != nil}
	for k := 1; k <= s.MemberCount(); k++ {
		for _, v := range s.VolumesOf(k) {
			bill, err := s.catalog.Monthly(&v.Value, "")
			if err != nil {
				known.Volumes = false
				break
			}
			volumes += bill.Total
		}

		if s.instance == nil {
			continue
		}

		price, err := s.instance.Monthly("")
		if err != nil {
			known.Instances = false
			continue
		}

		instances += price
	}

	return volumes, instances, known
}
