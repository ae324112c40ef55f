package catalog

import "testing"

// Names as Microsoft's own pages spell them.
func TestSpelling(t *testing.T) {
	for name, want := range map[string]string{
		"standard_d32s_v5": "Standard_D32s_v5", "standard_ds12-1_v2": "Standard_DS12-1_v2", "standard_e8-4ads_v5": "Standard_E8-4ads_v5",
		"standard_nc4as_t4_v3": "Standard_NC4as_T4_v3", "standard_b2ms": "Standard_B2ms", "standard_m128s": "Standard_M128s",
	} {
		if got := (&InstanceType{Name: name, Provider: "azure"}).Spelling(); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	for _, i := range []InstanceType{{Name: "m6i.xlarge"}, {Name: "n2-standard-8", Provider: "gcp"}} {
		if got := i.Spelling(); got != i.Name {
			t.Errorf("%s: %s", i.Name, got)
		}
	}
}
