package rules

import "regexp"

// Cloud is the provider of a host's machine and volumes.
type Cloud string

// The clouds. NoCloud means that the host is known to be in none of them; an empty Cloud means
// unknown.
const (
	AWS     Cloud = "aws"
	Azure   Cloud = "azure"
	Google  Cloud = "gcp"
	NoCloud Cloud = "none"
)

// FactCloud is the fact that names the host's cloud.
const FactCloud = "cloud"

// machineNames are the naming patterns of each cloud's machine types: m6i.xlarge, Standard_D8s_v5,
// n2-standard-8.
var machineNames = []struct {
	Cloud
	pattern *regexp.Regexp
}{
	{AWS, regexp.MustCompile(`^[a-z][a-z0-9-]*\.[a-z0-9-]+$`)},
	{Azure, regexp.MustCompile(`(?i)^(standard|basic)_`)},
	{Google,
		regexp.MustCompile(`^[a-z][a-z0-9]*-(standard|highmem|highcpu|ultramem|megamem|hypermem|medium|small|micro|custom|node)`)},
}

// CloudOf returns the cloud that a case's sources report or that its machine type implies; "" if
// unknown.
func CloudOf(c *Case) Cloud {
	if named := Cloud(c.Facts[FactCloud]); named != "" {
		return named
	}
	for _, m := range machineNames {
		if m.pattern.MatchString(c.Facts[FactMachine]) {
			return m.Cloud
		}
	}
	return ""
}
