package emit

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"plimsoll/internal/base/inputerror"
	"plimsoll/internal/model/database"
)

// A File is one of the files that apply a layout.
type File struct {
	Path string // relative to the folder, with slashes
	Text []byte
	Mode fs.FileMode
}

// Text returns a file that is not executable.
func Text(path, text string) File { return File{Path: path, Text: []byte(text), Mode: plain} }

const (
	plain      fs.FileMode = 0o644
	executable fs.FileMode = 0o755
)

// A Part is a target's output for a layout.
type Part struct {
	Files   []File
	Applies []string // paths in the scenario of the changes that these files apply
	// Items of the README, in Markdown.
	Apply, Verify, Back, Restarts, Risks []string

	target string
}

// Options are a target's input in addition to the layout.
type Options struct {
	// Skip skips volumes that a target cannot create or change, instead of failing, because another of the
	// chosen targets can.
	Skip bool
	// StatefulSet is the manifest of the StatefulSet that runs the database, and StatefulSetFile its file
	// name for errors. Kubernetes only.
	StatefulSet     []byte
	StatefulSetFile string
	// Container is the engine's container in it; "": the one named after the engine, or the only one.
	Container string
	// Claims maps volume names to claim templates, if their mounts do not show it.
	Claims map[string]string
}

// A target is one kind of file.
type target struct {
	name   string
	about  string
	engine string // the only engine that it is for; "": all
	emit   func(*Transition, *Options) (*Part, error)
	// aliases are other names of the engine.
	aliases []string
}

// platforms are the targets for every engine.
var platforms = []target{
	{"terraform", "disks of AWS, Google Cloud and Azure, and their attachment", "", terraform, nil},
	{"aws", "a script of aws ec2 commands", "", clouds[0].write, nil},
	{"gcp", "a script of gcloud commands", "", clouds[1].write, nil},
	{"azure", "a script of az commands", "", clouds[2].write, nil},
	{"lvm", "a script that creates stripes and file systems", "", lvm, nil},
	{"kubernetes", "StorageClass, VolumeAttributesClass, a patch of the StatefulSet", "", kubernetes, nil},
	{"sysctl", "the kernel's vm.dirty_* settings", "", sysctl, nil},
	{budgetTarget, "the volumes' sustained limits as settings of the engine, the kernel and other databases",
		"", budgets, nil},
	{"udev", "a script and a udev rule for the devices' queues: writeback throttling, scheduler", "", udev, nil},
}

// targets are the available targets in the order in which to apply a layout: the machine's storage first,
// the engine last.
type targets []target

func targetsOf(able []database.With[Deployment]) targets {
	out := slices.Clone(targets(platforms))
	for _, e := range able {
		for _, t := range e.Part.Targets {
			write := func(l *Transition, _ *Options) (*Part, error) { return t.Write(l) }
			out = append(out, target{t.Name, t.About, e.Key, write, e.Aliases})
		}
	}
	return out
}

func (all targets) names() []string {
	var out []string
	for _, t := range all {
		out = append(out, t.name)
	}
	return out
}

func (all targets) of(engine string) targets {
	return slices.DeleteFunc(slices.Clone(all),
		func(t target) bool { return t.engine != "" && t.engine != engine })
}

// meant replaces engines' names by the names of their targets: mongodb means mongod.conf's.
func (all targets) meant(names []string) []string {
	out := slices.Clone(names)
	for i, name := range out {
		if slices.Contains(all.names(), name) {
			continue
		}
		for _, t := range all {
			if t.engine != "" && (t.engine == name || slices.Contains(t.aliases, name)) {
				out[i] = t.name
				break
			}
		}
	}
	return out
}

// A TargetInfo is a target's name and a short description of what it writes.
type TargetInfo struct{ Name, About string }

// Targets returns all targets available with the given engines.
func Targets(able []database.With[Deployment]) []TargetInfo {
	var out []TargetInfo
	for _, t := range targetsOf(able) {
		out = append(out, TargetInfo{t.name, t.about})
	}
	return out
}

// A Result is the files that apply a layout, and which changes they apply.
type Result struct {
	Files []File
	// By has the targets that apply each change, in the order of Layout.Changes; nil if no chosen target
	// can.
	By [][]string
	// Idle are the chosen targets that have nothing to do.
	Idle []string
}

// Files returns the files of the named targets, and a README. The error is of type *[InputError] if a
// target does not support the engine or the volumes, or if there is nothing to do.
func Files(transition *Transition, names []string, o Options) (*Result, error) {
	chosen, err := choose(transition, names, &o)
	if err != nil {
		return nil, err
	}

	// The budget describes the layout itself, so it makes sense without changes.
	if len(transition.changes) == 0 && !slices.Contains(names, budgetTarget) {
		return nil, &InputError{
			Text: "nothing to emit: the layout does not differ from the scenario",
			Next: "specify changes with --set, or use a plan that chose some", Unchanged: true,
		}
	}

	result := &Result{By: make([][]string, len(transition.changes))}
	var parts []*Part
	for _, t := range chosen {
		p, err := t.emit(transition, &o)
		if err != nil {
			return nil, err
		}

		// A target without work is not an error as long as another one has some.
		if p == nil || len(p.Files) == 0 {
			result.Idle = append(result.Idle, t.name)
			continue
		}

		p.target = t.name
		parts = append(parts, p)
		result.Files = append(result.Files, p.Files...)

		for i, c := range transition.changes {
			if slices.ContainsFunc(p.Applies, c.within) {
				result.By[i] = append(result.By[i], t.name)
			}
		}
	}

	if len(parts) == 0 && len(transition.changes) == 0 {
		return nil, Inputf("use volumes with known limits",
			"--target %s has nothing to do: no volume has a known limit", strings.Join(result.Idle, ", "))
	}
	if len(parts) == 0 {
		return nil, Inputf("for "+transition.changes[0].Path+": "+otherwise(transition, transition.changes[0]),
			"--target %s has nothing to do: the layout only changes %s", strings.Join(result.Idle, ", "), transition.inShort())
	}

	result.Files = append([]File{{Path: "README.md", Text: readme(transition, parts, result), Mode: plain}}, result.Files...)
	return result, nil
}

// choose returns the named targets in the order of application.
func choose(l *Transition, names []string, o *Options) ([]target, error) {
	fits := l.targets.of(l.engine()).names()
	names = l.targets.meant(names)
	if len(names) == 0 {
		return nil, Inputf("for example --target "+fits[0]+" --target "+
			fits[len(fits)-1], "no target given: --target accepts %s for %s",
			strings.Join(fits, ", "), l.engine())
	}

	for _, name := range names {
		i := slices.IndexFunc(l.targets, func(t target) bool { return t.name == name })
		if i < 0 {
			return nil, Inputf(meant(name, l.targets.names()), "--target %q is not a target: want one of %s", name,
				strings.Join(l.targets.names(), ", "))
		}
		if e := l.targets[i].engine; e != "" && e != l.engine() {
			return nil, Inputf("the targets for it are "+strings.Join(fits, ", "),
				"--target %s is for another engine: the scenario's engine is %s", name, l.engine())
		}
	}

	if !slices.Contains(names, "kubernetes") && (o.StatefulSet != nil || o.Container != "" ||
		len(o.Claims) > 0) {
		return nil, Inputf("add --target kubernetes", "--statefulset, --container and --claim require --target kubernetes")
	}

	var out []target

	// Keep the order of application, not that of the flags.
	for _, t := range l.targets {
		if slices.Contains(names, t.name) {
			out = append(out, t)
		}
	}

	return out, nil
}

// inShort returns the paths of the changes on one line.
func (l *Transition) inShort() string {
	var paths []string
	for _, c := range l.changes {
		paths = append(paths, c.Path)
	}
	if len(paths) > 5 {
		paths = append(paths[:4:4], fmt.Sprintf("%d more", len(l.changes)-4))
	}
	return strings.Join(paths, ", ")
}

// meant suggests the target that was probably meant; "" if there is none.
func meant(name string, among []string) string {
	if near := inputerror.Nearest(name, among); near != "" {
		return "did you mean " + near + "?"
	}
	return ""
}

// Head returns the header comment of a file, with a mark before each line.
func (l *Transition) Head(mark, what string, more ...string) string {
	lines := append([]string{what, "For the layout of " + l.title() +
		", written by plimsoll emit. README.md explains how to apply it."}, more...)
	var b strings.Builder
	for _, line := range lines {
		b.WriteString(strings.TrimRight(mark+" "+line, " ") + "\n")
	}
	return b.String()
}
