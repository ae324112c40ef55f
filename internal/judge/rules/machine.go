package rules

// A Machine is what a machine type provides to all its volumes together: Baseline sustained,
// Maximum for a while.
type Machine struct {
	Name              string
	Baseline, Maximum Provision
}
