package emit

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// queueScript is the common part of the script, after the line with the settings.
//
//go:embed queue.bash
var queueScript string

// queueLoop is the script of the DaemonSet.
//
//go:embed queueloop.sh
var queueLoop string

// A queueSetting is a setting of a device's queue in /sys/block that a layout changes.
type queueSetting struct{ path, name, value string }

// queueSettings returns the settings that change, in the order in which to set them: changing the
// scheduler may turn writeback throttling off, so the scheduler comes first.
func (l *Transition) queueSettings() []queueSetting {
	h := &l.After.Host
	var out []queueSetting
	for _, s := range []queueSetting{
		{"host.scheduler", "scheduler", string(h.Scheduler)},
		{"host.nr_requests", "nr_requests", strconv.Itoa(h.NrRequests)},
		{"host.wbt_lat_usec", "wbt_lat_usec", strconv.Itoa(h.WbtLatUsec)},
	} {
		// 0 means unlimited in a scenario, but the kernel has no such value
		if l.Changed(s.path) && (s.name != "nr_requests" || h.NrRequests > 0) {
			out = append(out, s)
		}
	}
	return out
}

// queueRisks returns the risks of the layout's writeback throttling.
func (l *Transition) queueRisks() []string {
	switch {
	case !l.Changed("host.wbt_lat_usec"):
		return nil
	case l.After.Host.WbtLatUsec == 0:
		return []string{"Without writeback throttling, a flush of the page cache fills the device's queue, and everything else on that device queues behind it: other programs, and reads."}
	}
	return []string{"Writeback throttling limits how many of the page cache's writes are in flight at a device. A restore, a bulk load or an initial sync through the page cache may take longer: undo it first, and apply it again afterwards. " +
		"Some 4.18 kernels of RHEL 8 hang with it."}
}

// udev writes a script that sets the volumes' queues immediately, and a udev rule that makes this permanent
// (Documentation/ABI/stable/sysfs-block; udev(7)).
func udev(l *Transition, _ *Options) (*Part, error) {
	settings := l.queueSettings()
	if len(settings) == 0 {
		return nil, nil
	}

	p := &Part{}
	var words []string

	text := "#!/bin/bash\n" +
		l.Head("#", "Sets the queues of the volumes' devices, immediately and after each boot.")
	for _, s := range settings {
		text += l.Comments(s.path)
		words = append(words, s.name+"="+s.value)
		p.Applies = append(p.Applies, s.path)
	}

	text += fmt.Sprintf("# It is safe to run again.\nset -euo pipefail\n\nreadonly settings=(%s)\n\n",
		strings.Join(words, " ")) + withFunctions(queueScript)
	const file = "udev/queue.sh"
	p.Files = []File{{Path: file, Text: []byte(text), Mode: executable}}
	p.Apply = []string{"On each machine, as root, for the devices of the database's volumes (`lsblk -o NAME,SIZE,SERIAL,MOUNTPOINT`; for a stripe, its member devices):\n\n" +
		"    " + file + " --look DEVICE...\n    " + file + " --dry-run DEVICE...\n    " + file + " DEVICE..."}
	p.Verify = []string{"`" + file +
		" --look DEVICE...`, also after the next boot. `iostat -x 1` shows the queue length (`aqu-sz`) during a checkpoint."}
	p.Back = []string{"`" + file + " --undo DEVICE...` restores the previous values and removes the rule."}
	p.Risks = l.queueRisks()

	return p, nil
}

// queueDaemonSet writes a DaemonSet that keeps the queues of labelled nodes' disks set. The database's own
// manifest cannot do that, because the queues belong to the node.
func (l *Transition) queueDaemonSet(part *Part) error {
	settings := l.queueSettings()
	if len(settings) == 0 {
		return nil
	}

	name := l.slug() + "-queue"
	label := map[string]string{"plimsoll.io/queue": l.slug()}

	// New volumes may be attached at any time, so the pod repeats the loop.
	var each strings.Builder
	for _, s := range settings {
		fmt.Fprintf(&each, "    \"$1\" \"$queue\" %s %s\n", s.name, s.value)
		part.Applies = append(part.Applies, s.path)
	}

	loop := strings.Replace(queueLoop, "    \"$1\" \"$queue\" setting value\n", each.String(), 1)
	_, loop, _ = strings.Cut(loop, "\n") // for shellcheck
	// /run is empty after a boot, as the kernel's own settings are.
	privileged, make := true, corev1.HostPathDirectoryOrCreate
	text, err := manifest(&appsv1.DaemonSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: appsv1.SchemeGroupVersion.String(), Kind: "DaemonSet"},
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: label},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: label},
				Spec: corev1.PodSpec{
					NodeSelector: label,
					Tolerations:  []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
					Containers: []corev1.Container{{
						Name: "queue", Image: "busybox:1.36", Command: []string{"sh", "-c", loop},
						SecurityContext: &corev1.SecurityContext{Privileged: &privileged},
						VolumeMounts:    []corev1.VolumeMount{{Name: "saved", MountPath: "/saved"}},
					}},
					Volumes: []corev1.Volume{{Name: "saved", VolumeSource: corev1.VolumeSource{
						HostPath: &corev1.HostPathVolumeSource{Path: "/run/" + name, Type: &make}}}},
				},
			},
		},
	})
	if err != nil {
		return err
	}

	comments := ""
	for _, s := range settings {
		comments += l.Comments(s.path)
	}

	const path = "kubernetes/queue.yaml"
	head := l.Head("#", "Keeps the queue settings of nodes' disks, on nodes with the label plimsoll.io/queue="+
		l.slug()+".",
		"It is privileged, because these settings belong to the node, and it applies them to every disk of the node.")
	part.Files = append(part.Files, File{Path: path, Text: []byte(head + comments + text), Mode: plain})
	part.Apply = append(part.Apply, "`kubectl label node NODE... plimsoll.io/queue="+l.slug()+
		"` for the nodes that run the database and little else, then `kubectl apply -f "+path+"`. "+
		"If privileged pods are not allowed, configure the node group instead: add a udev rule (`--target udev` writes one) to its image or user data.")
	part.Verify = append(part.Verify, "`kubectl logs daemonset/"+name+
		"` lists each disk that it has set, at most 60 s after a volume was attached.")

	part.Back = append(part.Back, "`kubectl delete -f "+path+
		"`: each pod restores the settings of its node's disks before it ends. If one was killed instead (`kubectl delete --force`), apply the file again and delete it. Then remove the label: `kubectl label node NODE... plimsoll.io/queue-`.")
	part.Risks = append(part.Risks, l.queueRisks()...)
	return nil
}
