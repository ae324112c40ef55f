//go:build linux

package clustertest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"plimsoll/internal/record/kubeclient"
)

// kubelet starts and stops a pod.
func (p *Play) kubelet(ctx context.Context, pod *corev1.Pod) error {
	if pod.DeletionTimestamp != nil {
		return Now(ctx, p.C, pod)
	}

	if ready(pod) {
		p.write(pod)
		return nil
	}

	if err := p.alone(ctx, pod); err != nil {
		return err
	}

	folders := map[string]string{} // of the mounts
	for _, v := range pod.Spec.Volumes {
		if v.PersistentVolumeClaim == nil {
			continue
		}
		claim, err := kubeclient.Claims.Get(ctx, p.C, ns, v.PersistentVolumeClaim.ClaimName)
		// Not bound yet: a later turn tries again.
		if err != nil || claim.Status.Phase != corev1.ClaimBound {
			return err
		}
		folders[v.Name] = filepath.Join(p.Dir, string(claim.UID))
		if err := os.MkdirAll(folders[v.Name], 0o700); err != nil {
			return err
		}
	}

	status := pod.Status.DeepCopy()
	status.Phase = corev1.PodRunning
	status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue,
		LastTransitionTime: metav1.Now()}}

	for i := range pod.Spec.InitContainers {
		if code, out := p.run(&pod.Spec.InitContainers[i], folders); code != 0 {
			status.Phase = corev1.PodPending
			status.Conditions[0].Status, status.Conditions[0].Message = corev1.ConditionFalse, out
			status.InitContainerStatuses = []corev1.ContainerStatus{{Name: pod.Spec.InitContainers[i].Name,
				State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: int32(code),
					ContainerID: p.attempt()}}}}
			break
		}
	}

	if status.Phase == corev1.PodRunning {
		p.begin(pod, folders)
	}

	pod.Status = *status
	_, err := kubeclient.Pods.UpdateStatus(ctx, p.C, ns, pod.Name, pod)
	return err
}

// alone notes which other members are down at the same time, if they have run before.
func (p *Play) alone(ctx context.Context, pod *corev1.Pod) error {
	pods, err := kubeclient.Pods.List(ctx, p.C, ns, "app="+p.Name)
	if err != nil {
		return err
	}
	up := map[string]bool{}
	for i := range pods {
		up[pods[i].Name] = ready(&pods[i]) && pods[i].DeletionTimestamp == nil
	}
	for name := range p.Restarts {
		// Only what ran before can be down.
		if name != pod.Name && !up[name] {
			p.Down = append(p.Down, name+" with "+pod.Name)
		}
	}
	return nil
}

// Now removes a pod that is being deleted, as a kubelet does when its containers have ended.
func Now(ctx context.Context, c *kubeclient.Client, pod *corev1.Pod) error {
	return kubeclient.Pods.DeleteNow(ctx, c, ns, pod.Name, pod.UID)
}

// on returns the path on this machine for a path in a container.
func on(c *corev1.Container, folders map[string]string, path string) string {
	best := ""
	out := ""
	for _, m := range c.VolumeMounts {
		rest, ok := strings.CutPrefix(path, m.MountPath)
		// The longest mount path wins, because mounts may be nested.
		if ok && (rest == "" || rest[0] == '/') && len(m.MountPath) > len(best) && folders[m.Name] != "" {
			best, out = m.MountPath, filepath.Join(folders[m.Name], rest)
		}
	}
	return out
}

// run runs an init container's script on the folders of its volumes. A link in them leads to a path
// of this machine, as one in a container leads to a path of the container.
func (p *Play) run(c *corev1.Container, folders map[string]string) (code int, out string) {
	args := slices.Clone(c.Command)
	// The arguments from the fifth on are the script's own.
	for i := 4; i < len(args); i++ {
		if strings.HasPrefix(args[i], "/") {
			args[i] = on(c, folders, args[i])
		}
	}

	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), "PATH="+p.tools()+":"+os.Getenv("PATH"))
	if p.Full.Load() {
		cmd.Env = append(cmd.Env, "PATH="+p.full()+":"+p.tools()+":"+os.Getenv("PATH"))
	}

	text, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0, ""
	case errors.As(err, &exit):
		return exit.ExitCode(), string(text)
	}

	return -1, err.Error()
}

// tools is a folder with a sync that does nothing. The real one waits for everything that this machine
// writes, and these tests do not simulate the crash of a machine.
func (p *Play) tools() string { return p.program("tools", "sync", "#!/bin/sh\n") }

// program writes a script into a folder, and returns the folder.
func (p *Play) program(folder, name, script string) string {
	dir := filepath.Join(p.Dir, folder)
	if err := errors.Join(os.MkdirAll(dir, 0o700),
		os.WriteFile(filepath.Join(dir, name), []byte(script), 0o700)); err != nil {
		p.Lost = append(p.Lost, err.Error())
	}
	return dir
}

// attempt names one run of a container.
func (p *Play) attempt() string {
	p.attempts++
	return fmt.Sprintf("play://%d", p.attempts)
}

// full is a folder with a cp that copies a part and then runs out of space.
func (p *Play) full() string {
	const cp = "#!/bin/sh\nmkdir -p \"$3\"\necho part >\"$3/part\"\necho 'cp: error writing: No space left on device' >&2\nexit 1\n"
	return p.program("full", "cp", cp)
}

// begin starts a pod's database on the log that its path leads to.
func (p *Play) begin(pod *corev1.Pod, folders map[string]string) {
	p.Restarts[pod.Name]++
	if p.Log == "" {
		return // a database that no test starts
	}

	log := on(&pod.Spec.Containers[0], folders, p.Log)
	if log == "" {
		p.Lost = append(p.Lost, pod.Name+" started with its log on no volume")
		return
	}

	text, err := os.ReadFile(filepath.Join(log, p.File))
	switch {
	case p.acked[pod.Name] == "": // a new member
		if err := errors.Join(os.MkdirAll(log, 0o700),
			os.WriteFile(filepath.Join(filepath.Dir(log), "database"), []byte("db"), 0o600)); err != nil {
			p.Lost = append(p.Lost, err.Error())
		}
	// The log must contain exactly the acknowledged writes, no less and no more.
	case err != nil || string(text) != p.acked[pod.Name]:
		p.Lost = append(p.Lost, fmt.Sprintf("%s started on %q (%v), and %q was acknowledged", pod.Name, text, err,
			p.acked[pod.Name]))
	}

	p.logs[pod.Name] = log
	p.write(pod)
}

// write is a write that a pod's database acknowledges.
func (p *Play) write(pod *corev1.Pod) {
	log := p.logs[pod.Name]
	if log == "" {
		return
	}

	p.n++
	text := fmt.Sprintf("%d ", p.n)
	f, err := os.OpenFile(filepath.Join(log, p.File), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.WriteString(text)
		err = errors.Join(err, f.Close())
	}

	if err != nil {
		p.Lost = append(p.Lost, err.Error())
		return
	}

	p.acked[pod.Name] += text
}

// Acknowledged returns how many writes the databases acknowledged. Mismatches between these writes and the
// databases' logs are added to Lost. The play must be at rest.
func (p *Play) Acknowledged() int {
	for pod, want := range p.acked {
		if text, err := os.ReadFile(filepath.Join(p.logs[pod], p.File)); err != nil || string(text) != want {
			p.Lost = append(p.Lost, fmt.Sprintf("%s has %q (%v), and %q was acknowledged", pod, text, err, want))
		}
	}
	return p.n
}

// LogOf returns the folder in which a pod's database currently has its log, with links resolved.
func (p *Play) LogOf(pod string) string {
	path, err := filepath.EvalSymlinks(p.logs[pod])
	if err != nil {
		return err.Error()
	}
	return path
}
