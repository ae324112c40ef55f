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

// queueScript is what the script does, after the line with the settings.
//
//go:embed queue.bash
var queueScript string

// A queueSetting is one of a device's queue in /sys/block that a layout changes.
type queueSetting struct{ path, name, value string }

// queueSettings are those that change, in the order in which the kernel takes them: a scheduler may
// turn writeback throttling off.
func (l *Layout) queueSettings() []queueSetting {
	h := &l.After.Host
	var out []queueSetting
	for _, s := range []queueSetting{
		{"host.scheduler", "scheduler", string(h.Scheduler)},
		{"host.nr_requests", "nr_requests", strconv.Itoa(h.NrRequests)},
		{"host.wbt_lat_usec", "wbt_lat_usec", strconv.Itoa(h.WbtLatUsec)},
	} {
		// a kernel has no queue without a bound
		if l.Changed(s.path) && (s.name != "nr_requests" || h.NrRequests > 0) {
			out = append(out, s)
		}
	}
	return out
}

// queueRisks are what one accepts with writeback throttling as the layout has it.
func (l *Layout) queueRisks() []string {
	switch {
	case !l.Changed("host.wbt_lat_usec"):
		return nil
	case l.After.Host.WbtLatUsec == 0:
		return []string{"Without writeback throttling a flush of the page cache fills the device's queue, and everything else on that device waits behind it: other programs, and reads."}
	}
	return []string{"Writeback throttling bounds the page cache's writes that a device has in flight. A restore, a bulk load or an initial sync through the page cache may take longer with it: take it back before, and apply it again after. " +
		"Some 4.18 kernels of RHEL 8 hang with it."}
}

// udev writes a script that sets the volumes' queues at once, and a rule of udev that keeps that
// (Documentation/ABI/stable/sysfs-block; udev(7)).
func udev(l *Layout, _ *Options) (*Part, error) {
	settings := l.queueSettings()
	if len(settings) == 0 {
		return nil, nil
	}

	p := &Part{}
	var words []string

	text := "#!/bin/bash\n" + l.Head("#", "Sets the queue of the volumes' devices, at once and after each boot.")
	for _, s := range settings {
		text += l.Comments(s.path)
		words = append(words, s.name+"="+s.value)
		p.Applies = append(p.Applies, s.path)
	}

	text += fmt.Sprintf("# A second run changes nothing more.\nset -euo pipefail\n\nreadonly settings=(%s)\n\n",
		strings.Join(words, " ")) + withFunctions(queueScript)
	const file = "udev/queue.sh"
	p.Files = []File{{Path: file, Text: []byte(text), Mode: executable}}
	p.Apply = []string{"On each machine, as root, for the devices of the database's volumes (`lsblk -o NAME,SIZE,SERIAL,MOUNTPOINT`; of a stripe those under it):\n\n" +
		"    " + file + " --look DEVICE...\n    " + file + " --dry-run DEVICE...\n    " + file + " DEVICE..."}
	p.Verify = []string{"`" + file +
		" --look DEVICE...`, also after the next boot. `iostat -x 1` shows how long the queue (`aqu-sz`) is during a checkpoint."}
	p.Back = []string{"`" + file + " --undo DEVICE...` writes back what was set before, and removes the rule."}
	p.Risks = l.queueRisks()

	return p, nil
}

// queueDaemonSet makes pods that keep the queues of a labelled node's disks set: a pod's own
// manifest cannot, because they belong to the node.
func (l *Layout) queueDaemonSet(p *Part) error {
	settings := l.queueSettings()
	if len(settings) == 0 {
		return nil
	}

	name := l.slug() + "-queue"
	label := map[string]string{"plimsoll.io/queue": l.slug()}

	loop := "while true; do\n  for queue in /sys/block/nvme*/queue /sys/block/sd*/queue; do\n"
	for _, s := range settings {
		loop += fmt.Sprintf("    f=$queue/%s\n    if [ -w \"$f\" ]; then case \" $(cat \"$f\" 2>/dev/null) \" in *\" %s \"*|*\"[%s]\"*) ;; *) echo %s > \"$f\" && echo \"$f is %s\" ;; esac; fi\n",
			s.name, s.value, s.value, s.value, s.value)
		p.Applies = append(p.Applies, s.path)
	}

	loop += "  done\n  sleep 60\ndone\n"
	privileged := true
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
					}},
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
	head := l.Head("#", "Keeps the queues of a node's disks set, for nodes with the label plimsoll.io/queue="+
		l.slug()+".",
		"It is privileged, because these settings belong to the node: every disk of it gets them.")
	p.Files = append(p.Files, File{Path: path, Text: []byte(head + comments + text), Mode: plain})
	p.Apply = append(p.Apply, "`kubectl label node NODE... plimsoll.io/queue="+l.slug()+
		"` for the nodes that run the database and little else, then `kubectl apply -f "+path+"`. "+
		"Where privileged pods are not allowed, put the same into the node group's configuration: a udev rule (`--to udev` writes one) in its image or user data.")
	p.Verify = append(p.Verify, "`kubectl logs daemonset/"+name+
		"` names each disk that it has set; 60 s at the latest after a volume is attached.")

	var before []string
	for _, s := range settings {
		before = append(before, s.name+" "+said(l.from(s.path)))
	}

	p.Back = append(p.Back, "Change the values in "+path+" to what they were ("+strings.Join(before, ", ")+
		"), apply it, wait a minute, then `kubectl delete -f "+path+"`: disks keep what was set last.")
	p.Risks = append(p.Risks, l.queueRisks()...)
	return nil
}

// from is a changed value as it was.
func (l *Layout) from(path string) string {
	for _, c := range l.changes {
		if c.Path == path {
			return c.From
		}
	}
	return ""
}
