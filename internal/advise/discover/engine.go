package discover

import (
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"plimsoll/internal/advise/emit"
	"plimsoll/internal/advise/fit"
	"plimsoll/internal/base/units"
	"plimsoll/internal/model/engine"
)

// An Engine is what a discovery needs from a storage engine.
type Engine struct {
	// Container says how its containers are recognised, and what their configuration means.
	Container Container
	// Deployment says where its volumes are, and how its containers are usually called.
	Deployment emit.Deployment
}

// A Container is how an engine runs in one.
type Container struct {
	// Images are the last parts of its images' names, without tags: "postgres".
	Images []string
	// Programs are the names of its server.
	Programs []string
	// Settings reads the engine's settings; nil: none are known.
	Settings func(p *Process) []Setting
	// LogFolder returns the folder that the configuration gives the log; "": where the engine has it
	// by itself. Nil: there is no such setting.
	LogFolder func(p *Process) string
}

// A Setting is one of an engine's, as a container has it.
type Setting struct {
	Key   string // below the engine's in a scenario: "cache"
	Value fit.Quantity
	From  string // what says so: "--quota-backend-bytes"
	// Derived means that nobody set it: the engine takes it from something else.
	Derived bool
}

// A Process is an engine's container as it is started.
type Process struct {
	// Args are its command and arguments.
	Args []string
	// Memory is what it may use: its limit, or the machine's; 0 if neither is known.
	Memory units.Size

	env   map[string]string
	files []mounted
}

// A mounted is a file that a ConfigMap gives a container.
type mounted struct{ path, text, object string }

// Getenv returns a variable of its environment; "" if it has none, or if a Secret has it.
func (p *Process) Getenv(name string) string { return p.env[name] }

// Flag returns the value of the first of some flags that is there, and the flag.
func (p *Process) Flag(names ...string) (value, from string) {
	for _, name := range names {
		if v := emit.Argument(p.Args, name); v != "" {
			return v, name
		}
	}
	return "", ""
}

// File returns the text of a file that a ConfigMap mounts, and the ConfigMap.
func (p *Process) File(name string) (text, object string) {
	for _, f := range p.files {
		if f.path == path.Clean(name) {
			return f.text, f.object
		}
	}
	return "", ""
}

// FilesLike returns the paths of the files that a ConfigMap mounts and whose names end so.
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

// runs reports whether a container runs an engine, and by what it is known.
func (c *Container) runs(of *corev1.Container) (by string) {
	image := of.Image
	image, _, _ = strings.Cut(image, "@")
	image = path.Base(image)
	image, _, _ = strings.Cut(image, ":")
	if slices.Contains(c.Images, image) {
		return "its image is " + of.Image
	}
	for _, word := range append(append([]string{}, of.Command...), of.Args...) {
		if slices.Contains(c.Programs, path.Base(word)) {
			return "it runs " + word
		}
	}
	return ""
}

// recognise finds the engine and its container among a pod's.
func recognise(engines []engine.With[Engine], spec *corev1.PodSpec, key,
	container string) (engine.With[Engine], *corev1.Container, string, error) {
	var names []string
	for i := range spec.Containers {
		names = append(names, spec.Containers[i].Name)
	}

	none := engine.With[Engine]{}
	if key != "" {
		e, err := engine.Find(engines, key, "be discovered")
		if err != nil {
			return none, nil, "", err
		}
		engines = []engine.With[Engine]{e}
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

	if key != "" { // it was said: the container is the named one, or the one called as usual
		its := &engines[0].Part.Deployment
		for i := range spec.Containers {
			c := &spec.Containers[i]
			if c.Name == container || container == "" && (len(names) == 1 || slices.Contains(its.Containers, c.Name)) {
				return engines[0], c, "it was given", nil
			}
		}
	}

	var known []string
	for _, e := range engines {
		known = append(known, e.Key)
	}

	return none, nil, "", inputf("--engine and --container say it; these are known: "+strings.Join(known, ", "),
		"no container of the StatefulSet is recognised as a database's: it has %s", strings.Join(names, ", "))
}
