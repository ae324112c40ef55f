package catalog

import (
	"slices"
	"testing"
)

func TestInstancesBySize(t *testing.T) {
	for name, want := range map[string]string{"m6i.2xlarge": "m6i", "n2-standard-8": "n2-standard",
		"c3-standard-8-lssd": "c3-standard-lssd", "standard_d16s_v5": "standard_ds_v5", "e2-micro": "e2-micro",
		"m6i.metal-32xl": "m6i", "custom": "custom", "standard_d96s_v5": "standard_ds_v5",
		"standard_e4ds_v5": "standard_eds_v5"} {
		if got := (&InstanceType{Name: name}).Family(); got != want {
			t.Errorf("%s is of the family %s, want %s", name, got, want)
		}
	}

	var c *Catalog
	for family, want := range map[string][]string{
		"m6i": {"m6i.large", "m6i.xlarge", "m6i.2xlarge", "m6i.4xlarge", "m6i.8xlarge", "m6i.12xlarge", "m6i.16xlarge",
			"m6i.24xlarge", "m6i.32xlarge", "m6i.metal"},
		"c2-standard": {"c2-standard-4", "c2-standard-8", "c2-standard-16", "c2-standard-30", "c2-standard-60"},
	} {
		var types []*InstanceType
		for i := range c.Instances() {
			if x := &c.Instances()[i]; x.Family() == family {
				types = append(types, x)
			}
		}
		slices.SortFunc(types, BySize)

		var got []string
		for _, x := range types {
			got = append(got, x.Name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", family, got, want)
		}
	}
}
