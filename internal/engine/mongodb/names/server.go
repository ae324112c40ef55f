package names

// A server describes what the documents of one kind of server mean, which their format leaves open.
type server struct {
	// Version and Host are paths to these values, best first.
	Version, Host []string
	// Facts are its settings. If several have the same name, the first one present counts.
	Facts []Fact
	// Parameters are settings that become facts named "parameter.NAME"; they are below one of ParametersIn.
	Parameters, ParametersIn []string
}

// A Fact locates a setting in a metadata document.
type Fact struct {
	Name string
	// Path is keys joined by dots.
	Path string
	// Scale, if not 0, converts the number to bytes.
	Scale float64
	// Spell, if not nil, formats the fact's text.
	Spell func(text string) string
}

// Sections are the parts of a process under which newer builds store what older servers store at
// the top level. "" is the top level.
var Sections = []string{"", "common", "shard", "router"}

// Bare returns a path without the outer section of 8.x builds.
func Bare(path []string) []string {
	if len(path) > 1 {
		switch path[0] {
		case "shard", "router", "common":
			return path[1:]
		}
	}
	return path
}
