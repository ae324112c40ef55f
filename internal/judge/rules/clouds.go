package rules

import "regexp"

// Cloud is whose machines and volumes a host has.
type Cloud string

// The clouds. NoCloud is a host that is known to be in none of them; an empty Cloud is not known.
const (
	AWS     Cloud = "aws"
	Azure   Cloud = "azure"
	Google  Cloud = "gcp"
	NoCloud Cloud = "none"
)

// FactCloud is the fact that names the host's cloud.
const FactCloud = "cloud"

// machineNames are how each cloud calls its machine types: m6i.xlarge, Standard_D8s_v5, n2-standard-8.
var machineNames = []struct {
	Cloud
	pattern *regexp.Regexp
}{
	{AWS, regexp.MustCompile(`^[a-z][a-z0-9-]*\.[a-z0-9-]+$`)},
	{Azure, regexp.MustCompile(`(?i)^(standard|basic)_`)},
	{Google,
		regexp.MustCompile(`^[a-z][a-z0-9]*-(standard|highmem|highcpu|ultramem|megamem|hypermem|medium|small|micro|custom|node)`)},
}

// CloudOf is whose host a case is of, by what its sources report; "" if they do not.
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
