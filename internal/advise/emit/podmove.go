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
)

// The scripts, in POSIX sh, of the init containers that move a log to its volume and back, and the
// functions that both source.
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

// podScript inserts the functions into a script, because the container has no second file to source. The
// first line of each part is for shellcheck.
func podScript(steps string) string {
	_, steps, _ = strings.Cut(steps, "\n")
	_, functions, _ := strings.Cut(podLog, "\n")
	return strings.Replace(steps, ". ./podlog.sh\n", functions, 1)
}

// Mover is the name of the init container that moves a log.
const Mover = "plimsoll-log"

// A LogInPod describes where an engine's container has its log, and how to distinguish a log from an
// empty folder.
type LogInPod struct {
	// Mount is the mount point of the separate log volume.
	Mount string
	// Dir returns the engine's data folder and the log folder in it, given the data's mount point and the
	// container's arguments and environment.
	Dir func(mounted string, args []string, getenv func(string) string) (data, log string)
	// Files is a shell pattern that at least one file of every log matches.
	Files string
	// Image is an image with a shell to move the log, if the engine's own image has none.
	Image string
}

// moves reports whether a disk is the log's first separate volume, to which the pods move their logs.
func (s *statefulSet) moves(d *disk) bool {
	return d.action == created && d.member == 0 && s.l.deployment.Log != nil && d.volume == s.l.log
}

// moverFile is the path of the patch that moves the logs back.
const moverFile = "kubernetes-patch/log-back.yaml"

// mover returns the init container that runs a script. It mounts the data at the same path as the engine's
// container, so that a link resolves to the same place in both.
func (s *statefulSet) mover(script string) corev1.Container {
	from, to, data := s.logPaths()
	in := s.l.deployment.Log
	c := corev1.Container{
		Name: Mover, Image: s.container.Image, ImagePullPolicy: s.container.ImagePullPolicy,
		SecurityContext: s.container.SecurityContext,
		Command:         []string{"sh", "-c", script, Mover, from, to, in.Files, data},
	}

	// The pull policy belongs to the engine's image.
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

// logPaths returns paths in the container: the current log, the log on its separate volume, and the data.
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

// Argument returns the value of a flag in a container's command line, given as --flag=value or --flag
// value; "" if it is missing.
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

// describeMove writes how pods move their logs, one after the other, and how they move back.
func (s *statefulSet) describeMove(p *Part, ns string) {
	name, container := s.manifest.Name, s.container.Name
	from, to, _ := s.logPaths()
	pod := fmt.Sprintf("%s-%d", name, FirstOrdinal(s.manifest))
	renew := fmt.Sprintf("    kubectl%[1]s wait --for=condition=Ready --timeout=10s%[2]s &&\n"+
		"    kubectl%[1]s delete pod %[3]s &&\n"+
		"    kubectl%[1]s wait --for=create pod/%[3]s --timeout=5m &&\n"+
		"    kubectl%[1]s wait --for=condition=Ready pod/%[3]s --timeout=30m\n"+
		"    kubectl%[1]s logs %[3]s -c %[4]s\n\n", ns, s.pods(), pod, Mover)

	p.Apply = append(p.Apply,
		"Then one pod after another, **starting with the lowest ordinal**: the controller cannot give an existing pod the new claim, and does not recreate any pod with a higher ordinal than one that lacks it (kubernetes issue 141876). The update strategy is now `OnDelete`, so nothing else restarts a pod. Begin only while all of them are ready:\n\n"+
			renew+
			fmt.Sprintf(
				"The new pod gets its claim. Before the database starts, the init container `%[1]s` copies `%[2]s` to `%[3]s`, compares the two, keeps the old folder as `%[2]s.plimsoll-old` and leaves a link. "+
					"It does not let the database start on an empty log. Continue with the next pod once the database itself reports that this member is healthy and has caught up.",
				Mover, from, to))

	p.Verify = append(p.Verify,
		fmt.Sprintf(
			"`kubectl%s exec %s -c %s -- readlink %s` prints `%s` in each pod. Once the logs of all pods have moved, restore the update strategy, which restarts no pod:\n\n"+
				"    kubectl%[1]s patch statefulset %[6]s --type merge -p '%[7]s'\n\n"+
				"Once the improvement is proved, in each pod: `kubectl%[1]s exec %[2]s -c %[3]s -- rm -r %[4]s.plimsoll-old`.",
			ns,
			pod,
			container, from, to, name, s.strategyBefore()))

	p.Back = append(p.Back,
		fmt.Sprintf(
			"The log moves back while its volume is still mounted. A patch gives the StatefulSet an init container that moves the log back, and the update strategy `OnDelete`:\n\n"+
				"    kubectl%[1]s patch statefulset %[2]s --type strategic --patch-file %[3]s\n\n"+
				"Then one pod after another, starting with the lowest ordinal:\n\n"+renew+
				"The log then includes everything written since the move. **Never remove the volume first, and never rename `%[4]s.plimsoll-old` back: it is stale.**",
			ns, name, moverFile, from))

	p.Restarts = append(p.Restarts, "each pod of "+name+
		", one at a time, when you delete it; its database is stopped while its log is copied.")
}

// pods returns all pods of the set as kubectl takes them.
func (s *statefulSet) pods() string {
	var b strings.Builder
	for i := range Replicas(s.manifest) {
		fmt.Fprintf(&b, " pod/%s-%d", s.manifest.Name, FirstOrdinal(s.manifest)+i)
	}
	return b.String()
}

// strategyBefore returns a merge patch with the update strategy of the manifest.
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

// replacing makes a patch replace the update strategy instead of merging it: the server has filled in
// rollingUpdate, which OnDelete does not allow.
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
	head := s.l.Head("#", "For going back: a strategic merge patch of the StatefulSet "+s.manifest.Name+
		" after the move. README.md explains how.")
	p.Files = append(p.Files, File{Path: moverFile, Text: []byte(head + replacing(text)), Mode: plain})
	return nil
}
