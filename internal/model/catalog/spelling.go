package catalog

import (
	"strings"
	"unicode"
)

// Spelling returns the machine's name in its provider's spelling, as in labels of Kubernetes nodes
// and in API calls. The catalogue is in lower case, and only Azure's names have capitals:
// Standard_D32s_v5, Standard_NC4as_T4_v3, in the family and the accelerator (Microsoft Learn,
// "Azure virtual machine sizes naming conventions", 2025).
func (i *InstanceType) Spelling() string {
	if i.Provider != "azure" {
		return i.Name
	}

	parts := strings.Split(i.Name, "_")
	for k, part := range parts {
		switch {
		case k == 0:
			parts[k] = strings.ToUpper(part[:min(1, len(part))]) + part[min(1, len(part)):]
		case k == 1:
			// The letters before the number of processors are the family; those after it are features.
			family := strings.IndexFunc(part, unicode.IsDigit)
			if family < 0 {
				family = len(part)
			}
			parts[k] = strings.ToUpper(part[:family]) + part[family:]
		case isVersion(part):
		default:
			parts[k] = strings.ToUpper(part)
		}
	}

	return strings.Join(parts, "_")
}

// isVersion reports whether a part of an Azure name is its version, such as v5.
func isVersion(part string) bool {
	digits, ok := strings.CutPrefix(part, "v")
	return ok && digits != "" && strings.Trim(digits, "0123456789") == ""
}
