package emit

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"plimsoll/internal/base/diagnostics"
	"plimsoll/internal/model/engine"
)

// A File is one of those that apply a layout.
type File struct {
	Path string // below the folder, with slashes
	Text []byte
	Mode fs.FileMode
}

// Text makes a file that is not executable.
func Text(path, text string) File { return File{Path: path, Text: []byte(text), Mode: plain} }

const (
	plain      fs.FileMode = 0o644
	executable fs.FileMode = 0o755
)

// A Part is what a target makes of a layout.
type Part struct {
	Files   []File
	Applies []string // paths of the scenario whose changes these files apply
	// Lines of the README, as Markdown.
	Apply, Verify, Back, Restarts, Risks []string

	target string
}

// Options are a target's input besides the layout.
type Options struct {
	// Skip leaves out volumes that a target cannot make or change, instead of refusing them: for
	// targets of which another one can.
	Skip bool
	// StatefulSet is the manifest of the one that runs the database, with its name for errors.
	// Kubernetes only.
	StatefulSet     []byte
	StatefulSetFile string
	// Container is the engine's container in it; "" for the one named like the engine, or the only
	// one.
	Container string
	// Claims maps volume names to claim templates, if their mounts do not show it.
	Claims map[string]string
}

// A target is one kind of file.
type target struct {
	name   string
	about  string
	engine string // the only engine that it is for, "" for all
	emit   func(*Layout, *Options) (*Part, error)
}

// platforms are the targets of every engine.
var platforms = []target{
	{"terraform", "disks of AWS, Google Cloud and Azure, and their attachment", "", terraform},
	{"aws", "a script of aws ec2 commands", "", aws},
	{"gcp", "a script of gcloud commands", "", clouds[0].write},
	{"azure", "a script of az commands", "", clouds[1].write},
	{"lvm", "a script that makes stripes and file systems", "", lvm},
	{"kubernetes", "StorageClass, VolumeAttributesClass, a patch of the StatefulSet", "", kubernetes},
	{"sysctl", "vm.dirty_* of the kernel", "", sysctl},
	{budgetTarget, "what the volumes give, as settings of the engine, the kernel and other databases",
		"", budgets},
	{"udev", "a script and a udev rule for the devices' queues: writeback throttling, scheduler", "", udev},
}

// targets are those available with some engines, in the order in which a layout is applied: the
// machine's storage first, the engine last.
type targets []target

func targetsOf(able []engine.With[Deployment]) targets {
	out := slices.Clone(targets(platforms))
	for _, e := range able {
		for _, t := range e.Part.Targets {
			write := func(l *Layout, _ *Options) (*Part, error) { return t.Write(l) }
			out = append(out, target{t.Name, t.About, e.Key, write})
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

// of returns those that fit an engine.
func (all targets) of(engine string) targets {
	return slices.DeleteFunc(slices.Clone(all),
		func(t target) bool { return t.engine != "" && t.engine != engine })
}

// A TargetInfo is a target's name and a short description of what it writes.
type TargetInfo struct{ Name, About string }

// Targets returns all targets available with some engines.
func Targets(able []engine.With[Deployment]) []TargetInfo {
	var out []TargetInfo
	for _, t := range targetsOf(able) {
		out = append(out, TargetInfo{t.name, t.about})
	}
	return out
}

// A Result is the files that apply a layout, and what they do not apply.
type Result struct {
	Files []File
	// By has the targets that apply each change, in the order of Layout.Changes; none if no chosen
	// target can apply it.
	By [][]string
	// Idle are chosen targets that have nothing to do.
	Idle []string
}

// Files makes the files of some targets, and a README. The error is of type *[InputError] if a
// target does not fit the engine or the volumes, or if there is nothing to do.
func Files(l *Layout, names []string, o Options) (*Result, error) {
	chosen, err := choose(l, names, &o)
	if err != nil {
		return nil, err
	}

	if len(l.changes) == 0 && !slices.Contains(names, budgetTarget) {
		return nil, &InputError{
			Text: "nothing changes, so there is nothing to emit: the layout is the scenario itself",
			Next: "give changes with --set, or a plan that chose some", Unchanged: true,
		}
	}

	r := &Result{By: make([][]string, len(l.changes))}
	var parts []*Part
	for _, t := range chosen {
		p, err := t.emit(l, &o)
		if err != nil {
			return nil, err
		}

		if p == nil || len(p.Files) == 0 {
			r.Idle = append(r.Idle, t.name)
			continue
		}

		p.target = t.name
		parts = append(parts, p)
		r.Files = append(r.Files, p.Files...)

		for i, c := range l.changes {
			if slices.ContainsFunc(p.Applies, c.within) {
				r.By[i] = append(r.By[i], t.name)
			}
		}
	}

	if len(parts) == 0 && len(l.changes) == 0 {
		return nil, Inputf("give volumes whose limits are known",
			"--to %s has nothing to do: no volume has a limit", strings.Join(r.Idle, ", "))
	}
	if len(parts) == 0 {
		return nil, Inputf("for "+l.changes[0].Path+": "+otherwise(l, l.changes[0]),
			"--to %s has nothing to do: what changes is %s", strings.Join(r.Idle, ", "), l.inShort())
	}

	r.Files = append([]File{{Path: "README.md", Text: readme(l, parts, r), Mode: plain}}, r.Files...)
	return r, nil
}

// choose finds the targets by name, in the order of application.
func choose(l *Layout, names []string, o *Options) ([]target, error) {
	fits := l.targets.of(l.engine()).names()
	if len(names) == 0 {
		return nil, Inputf("for example --to "+fits[0]+" --to "+fits[len(fits)-1], "which files? --to %s fit %s",
			strings.Join(fits, ", "), l.engine())
	}

	for _, name := range names {
		i := slices.IndexFunc(l.targets, func(t target) bool { return t.name == name })
		if i < 0 {
			return nil, Inputf(meant(name, l.targets.names()), "--to %q is not a target: one of %s", name,
				strings.Join(l.targets.names(), ", "))
		}
		if e := l.targets[i].engine; e != "" && e != l.engine() {
			return nil, Inputf("for it there are --to "+strings.Join(fits, ", "),
				"--to %s does not fit: the scenario's engine is %s", name, l.engine())
		}
	}

	if !slices.Contains(names, "kubernetes") && (o.StatefulSet != nil || o.Container != "" ||
		len(o.Claims) > 0) {
		return nil, Inputf("add --to kubernetes", "--statefulset, --container and --claim are for --to kubernetes")
	}

	var out []target
	for _, t := range l.targets {
		if slices.Contains(names, t.name) {
			out = append(out, t)
		}
	}

	return out, nil
}

// inShort returns the changes in one line.
func (l *Layout) inShort() string {
	var paths []string
	for _, c := range l.changes {
		paths = append(paths, c.Path)
	}
	if len(paths) > 5 {
		paths = append(paths[:4:4], fmt.Sprintf("%d more", len(l.changes)-4))
	}
	return strings.Join(paths, ", ")
}

// meant suggests the target that was probably meant, "" if there is none.
func meant(name string, among []string) string {
	if near := diagnostics.Nearest(name, among); near != "" {
		return "did you mean " + near + "?"
	}
	return ""
}

// Head returns the comment at the beginning of a file, with a mark before each line.
func (l *Layout) Head(mark, what string, more ...string) string {
	lines := append([]string{what, "For the layout of " + l.title() +
		", written by plimsoll emit. README.md says how to apply it."}, more...)
	var b strings.Builder
	for _, line := range lines {
		b.WriteString(strings.TrimRight(mark+" "+line, " ") + "\n")
	}
	return b.String()
}
