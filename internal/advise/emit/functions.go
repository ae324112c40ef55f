package emit

import (
	_ "embed"
	"strings"
)

// Functions that several scripts share. withFunctions replaces the lines that source them from files,
// because an emitted script must be a single file.
var (
	//go:embed say.bash
	sayFunctions string
	//go:embed run.bash
	runFunction string
)

// withFunctions returns a script with the shared functions inserted.
func withFunctions(script string) string {
	script = strings.Replace(script, ". ./say.bash\n", sayFunctions, 1)
	return strings.Replace(script, ". ./run.bash\n", runFunction, 1)
}
