package emit

import (
	_ "embed"
	"strings"
)

// Functions that scripts have alike. Each is where the script has the line that would read it from a
// file: what is emitted is one file.
var (
	//go:embed say.bash
	sayFunctions string
	//go:embed run.bash
	runFunction string
)

// withFunctions is a script with the functions that it has alike with others.
func withFunctions(script string) string {
	script = strings.Replace(script, ". ./say.bash\n", sayFunctions, 1)
	return strings.Replace(script, ". ./run.bash\n", runFunction, 1)
}
