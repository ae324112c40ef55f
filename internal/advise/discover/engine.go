package discover

import (
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"plimsoll/internal/advise/emit"
	"plimsoll/internal/advise/fit"
	"plimsoll/internal/base/units"
	"plimsoll/internal/model/database"
)

// An Engine is what discover needs to know about a storage engine.
type Engine struct {
	// Container recognises the engine's containers and parses their configuration.
	Container Container
	// Deployment has the mount points of its volumes and the usual names of its containers.
	Deployment emit.Deployment
}

// A Container describes how an engine runs in a container.
type Container struct {
	// Images are the last components of its images' names, without tags: "postgres".
	Images []string
	// Programs are the names of its server program.
	Programs []string
	// Settings returns the engine's settings; nil: not supported.
	Settings func(p *Process) []Setting
	// LogFolder returns the configured folder of the log; "": the engine's default. Nil: there is no such
	// setting.
	LogFolder func(p *Process) string
}

// A Setting is an engine's setting in a container.
type Setting struct {
	Key   string // below the engine's key in a scenario: "cache"
	Value fit.Quantity
	From  string // where it is set: "--quota-backend-bytes"
	// Derived: it is not set, and the engine derives it from something else.
	Derived bool
}

// A Process is an engine's container as started.
type Process struct {
	// Args are its command and arguments.
	Args []string
	// Memory is the memory that it may use: its limit, or the machine's memory; 0: unknown.
	Memory units.Size

	env   map[string]string
	files []mounted
}

// A mounted is a file that a container gets from a ConfigMap.
type mounted struct{ path, text, object string }

// Getenv returns an environment variable; "" if it is not set, or set from a Secret.
func (p *Process) Getenv(name string) string { return p.env[name] }

// Flag returns the value of the first flag that is set, and the flag.
func (p *Process) Flag(names ...string) (value, from string) {
	for _, name := range names {
		if v := emit.Argument(p.Args, name); v != "" {
			return v, name
		}
	}
	return "", ""
}

// File returns the text of a file mounted from a ConfigMap, and the ConfigMap.
func (p *Process) File(name string) (text, object string) {
	for _, f := range p.files {
		if f.path == path.Clean(name) {
			return f.text, f.object
		}
	}
	return "", ""
}

// FilesLike returns the paths of the files mounted from ConfigMaps that have a suffix.
func (p *Process) FilesLike(suffix string) []string {
	var out []string
	for _, f := range p.files {
		if strings.HasSuffix(f.path, suffix) {
			out = append(out, f.path)
		}
	}
	slices.Sort(out)
	return out
}

// runs returns how it recognises that a container runs the engine; "" if it does not.
func (c *Container) runs(of *corev1.Container) (by string) {
	image := of.Image
	image, _, _ = strings.Cut(image, "@")
	image = path.Base(image)
	image, _, _ = strings.Cut(image, ":")
	if slices.Contains(c.Images, image) {
		return "its image is " + of.Image
	}
	// A shell wrapper or an unusual image still names the server program.
	for _, word := range append(append([]string{}, of.Command...), of.Args...) {
		if slices.Contains(c.Programs, path.Base(word)) {
			return "it runs " + word
		}
	}
	return ""
}

// recognise finds the engine and its container in a pod.
func recognise(engines []database.With[Engine], spec *corev1.PodSpec, key,
	container string) (database.With[Engine], *corev1.Container, string, error) {
	var names []string
	for i := range spec.Containers {
		names = append(names, spec.Containers[i].Name)
	}

	none := database.With[Engine]{}
	if key != "" {
		e, err := database.Find(engines, key, "be discovered")
		if err != nil {
			return none, nil, "", err
		}
		engines = []database.With[Engine]{e}
	}

	for _, e := range engines {
		its := &e.Part.Container
		for i := range spec.Containers {
			c := &spec.Containers[i]
			if container != "" && c.Name != container {
				continue
			}
			if by := its.runs(c); by != "" {
				return e, c, by, nil
			}
		}
	}

	if key != "" { // the engine is given: use the named container, or one with a usual name
		its := &engines[0].Part.Deployment
		for i := range spec.Containers {
			c := &spec.Containers[i]
			if c.Name == container || container == "" && (len(names) == 1 || slices.Contains(its.Containers, c.Name)) {
				return engines[0], c, "as specified", nil
			}
		}
	}

	var known []string
	for _, e := range engines {
		known = append(known, e.Key)
	}

	return none, nil, "", inputf("specify --engine and --container; known engines: "+strings.Join(known, ", "),
		"no container of the StatefulSet is recognised as a database: it has %s", strings.Join(names, ", "))
}
