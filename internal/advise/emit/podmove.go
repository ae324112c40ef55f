package emit

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"path"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// The scripts of the init containers that move a log to its volume and back, in POSIX sh, and the functions
// that both name by a line of their own.
var (
	//go:embed podlog.sh
	podLog string
	//go:embed podmove.sh
	moveSteps string
	//go:embed podback.sh
	backSteps string

	podMove = podScript(moveSteps)
	podBack = podScript(backSteps)
)

// podScript puts the functions into a script: a container has no second file. The first line of each
// part is for shellcheck.
func podScript(steps string) string {
	_, steps, _ = strings.Cut(steps, "\n")
	_, functions, _ := strings.Cut(podLog, "\n")
	return strings.Replace(steps, ". ./podlog.sh\n", functions, 1)
}

// moverName is the init container's.
const moverName = "plimsoll-log"

// A LogInPod is where an engine's container has its log, and how to tell a log from an empty folder.
type LogInPod struct {
	// Mount is where the log's own volume is mounted.
	Mount string
	// Dir returns the engine's data folder and the log's in it, given where its data is mounted, its
	// arguments and its environment.
	Dir func(mounted string, args []string, getenv func(string) string) (data, log string)
	// Files is a shell pattern that every log has a file of.
	Files string
	// Image has the shell that moves the log, if the engine's own image has none.
	Image string
}

// moves reports whether a disk is the log's first volume of its own, to which a pod moves its log.
func (s *statefulSet) moves(d *disk) bool {
	return d.fate == created && d.member == 0 && s.l.deployment.Log != nil && d.volume == s.l.log
}

// moverFile is the patch that moves the logs back.
const moverFile = "kubernetes-patch/log-back.yaml"

// mover returns the init container that runs a script. It sees the data where the engine's container
// sees it, so that a link means the same to both.
func (s *statefulSet) mover(script string) corev1.Container {
	from, to, data := s.logPaths()
	in := s.l.deployment.Log
	c := corev1.Container{
		Name: moverName, Image: s.container.Image, ImagePullPolicy: s.container.ImagePullPolicy,
		SecurityContext: s.container.SecurityContext,
		Command:         []string{"sh", "-c", script, moverName, from, to, in.Files, data},
	}

	if in.Image != "" {
		c.Image, c.ImagePullPolicy = in.Image, ""
	}

	for _, m := range s.container.VolumeMounts {
		if m.Name == s.templates["data"] {
			c.VolumeMounts = append(c.VolumeMounts, m)
		}
	}

	c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: s.l.log, MountPath: in.Mount})
	return c
}

// logPaths are the container's: the log's now, the log's on its own volume, and the data's.
func (s *statefulSet) logPaths() (from, to, data string) {
	in := s.l.deployment.Log
	data, from = in.Dir(s.data, append(append([]string{}, s.container.Command...), s.container.Args...),
		func(name string) string {
			for _, e := range s.container.Env {
				if e.Name == name {
					return e.Value
				}
			}
			return ""
		})
	return from, path.Join(in.Mount, path.Base(from)), data
}

// Argument returns the value of a flag in a container's command line, as --flag=value or --flag
// value; "" if it is not there.
func Argument(args []string, flag string) string {
	for i, arg := range args {
		if v, ok := strings.CutPrefix(arg, flag+"="); ok {
			return v
		}
		if arg == flag && i+1 < len(args) {
			return args[i+1]
		}
	}
	return ""
}

// tellMove writes how pods move their logs, one after the other, and how they move back.
func (s *statefulSet) tellMove(p *Part, ns string) {
	name, container := s.manifest.Name, s.container.Name
	from, to, _ := s.logPaths()
	pod := fmt.Sprintf("%s-%d", name, s.first())
	renew := fmt.Sprintf("    kubectl%[1]s get pods%[2]s              # all ready, or stop here\n"+
		"    kubectl%[1]s delete pod %[3]s &&\n"+
		"    kubectl%[1]s wait --for=create pod/%[3]s --timeout=5m &&\n"+
		"    kubectl%[1]s wait --for=condition=Ready pod/%[3]s --timeout=30m\n"+
		"    kubectl%[1]s logs %[3]s -c %[4]s\n\n", ns, s.selected(), pod, moverName)

	p.Apply = append(p.Apply,
		"Then one pod after another, **from the lowest ordinal on**: the controller cannot give an older pod the new claim, and makes no pod anew behind one that lacks it (kubernetes issue 141876). The strategy is now `OnDelete`, so nothing else restarts a pod. Begin only while all of them are ready:\n\n"+
			renew+
			fmt.Sprintf(
				"The new pod gets its claim. Before the database starts, the init container `%[1]s` copies `%[2]s` to `%[3]s`, compares the two, keeps the old folder as `%[2]s.plimsoll-old` and leaves a link. "+
					"It does not let the database start on an empty log. Go on with the next pod when the database itself says that this one is well and has caught up.",
				moverName, from, to))

	p.Verify = append(p.Verify,
		fmt.Sprintf(
			"`kubectl%s exec %s -c %s -- readlink %s` prints `%s`; so in each pod. Once all pods have moved, the strategy can be what it was, which restarts none:\n\n"+
				"    kubectl%[1]s patch statefulset %[6]s --type merge -p '%[7]s'\n\n"+
				"When all is proved, in each pod: `kubectl%[1]s exec %[2]s -c %[3]s -- rm -r %[4]s.plimsoll-old`.", ns,
			pod,
			container, from, to, name, s.strategyBefore()))

	p.Back = append(p.Back,
		fmt.Sprintf(
			"The log moves back while its volume is still mounted. A patch gives the StatefulSet an init container that brings the log back, and the strategy `OnDelete`:\n\n"+
				"    kubectl%[1]s patch statefulset %[2]s --type strategic --patch-file %[3]s\n\n"+
				"Then one pod after another, from the lowest ordinal on:\n\n"+renew+
				"Its log has everything written since. **Never remove the volume first, and never rename `%[4]s.plimsoll-old` back: it is out of date.**",
			ns, name, moverFile, from))

	p.Restarts = append(p.Restarts, "each pod of "+name+
		", one at a time, when you delete it; its database is stopped while its log is copied.")
}

// first is the lowest ordinal.
func (s *statefulSet) first() int32 {
	if o := s.manifest.Spec.Ordinals; o != nil {
		return o.Start
	}
	return 0
}

// selected are the options that choose the set's pods; "" if it selects them by expressions.
func (s *statefulSet) selected() string {
	if s.manifest.Spec.Selector == nil || len(s.manifest.Spec.Selector.MatchLabels) == 0 {
		return ""
	}
	return " -l " + labels.Set(s.manifest.Spec.Selector.MatchLabels).String()
}

// strategyBefore is a merge patch with the update strategy that the manifest has.
func (s *statefulSet) strategyBefore() string {
	is := s.manifest.Spec.UpdateStrategy
	if is.Type == "" {
		is.Type = appsv1.RollingUpdateStatefulSetStrategyType
	}
	text, err := json.Marshal(map[string]any{"spec": map[string]any{"updateStrategy": is}})
	if err != nil {
		return "{}"
	}
	return string(text)
}

// replacing lets a patch replace the update strategy: the server fills in rollingUpdate, which
// OnDelete does not take.
func replacing(text string) string {
	return strings.Replace(text, "  updateStrategy:\n", "  updateStrategy:\n    $patch: replace\n", 1)
}

// back writes the patch whose init container moves the log back.
func (s *statefulSet) back(p *Part) error {
	out := &appsv1.StatefulSet{
		TypeMeta:   s.manifest.TypeMeta,
		ObjectMeta: metav1.ObjectMeta{Name: s.manifest.Name, Namespace: s.manifest.Namespace},
	}
	out.Spec.Template.Spec.InitContainers = []corev1.Container{s.mover(podBack)}
	out.Spec.UpdateStrategy.Type = appsv1.OnDeleteStatefulSetStrategyType
	text, err := manifest(out)
	if err != nil {
		return err
	}
	head := s.l.Head("#", "To go back: a strategic merge patch of the StatefulSet "+s.manifest.Name+
		" after the move. README.md says how.")
	p.Files = append(p.Files, File{Path: moverFile, Text: []byte(head + replacing(text)), Mode: plain})
	return nil
}
