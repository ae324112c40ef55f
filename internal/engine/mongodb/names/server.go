package names

// A server is what documents of a kind of server mean, which their format leaves open.
type server struct {
	// Version and Host are the paths of these values, the best first.
	Version, Host []string
	// Facts are its settings. If several have the same name, the first one present counts.
	Facts []Fact
	// Parameters are settings that are facts as "parameter.NAME"; they are below one of
	// ParametersIn.
	Parameters, ParametersIn []string
}

// A Fact is the place of a setting in a metadata document.
type Fact struct {
	Name string
	// Path is keys joined by dots.
	Path string
	// Scale, if not 0, is the unit of the number in bytes.
	Scale float64
	// Spell, if not nil, returns the fact's text for display.
	Spell func(text string) string
}

// Sections are the parts of a process under which newer builds store what older servers store at
// the top level. "" is the top level.
var Sections = []string{"", "common", "shard", "router"}

// Bare is a path without the outer section of 8.x builds.
func Bare(path []string) []string {
	if len(path) > 1 {
		switch path[0] {
		case "shard", "router", "common":
			return path[1:]
		}
	}
	return path
}
