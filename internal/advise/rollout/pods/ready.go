package pods

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"plimsoll/internal/advise/discover"
	"plimsoll/internal/advise/emit"
	"plimsoll/internal/advise/rollout/steps"
	"plimsoll/internal/record/kubeclient"
)

// failures returns the exit codes of a pod's failed attempts to move the log, by the ids of the init
// containers.
func failures(pod *corev1.Pod) map[string]int32 {
	out := map[string]int32{}
	if pod == nil {
		return out
	}
	for _, s := range pod.Status.InitContainerStatuses {
		for _, ended := range []*corev1.ContainerStateTerminated{s.State.Terminated,
			s.LastTerminationState.Terminated} {
			if s.Name == emit.Mover && s.State.Running == nil && ended != nil && ended.ExitCode != 0 {
				out[ended.ContainerID] = ended.ExitCode
			}
		}
	}
	return out
}

// awaitReady waits until a pod is ready and, if a set is given, has its template. It fails immediately if
// the init container fails. It ignores attempts that failed earlier, because the cluster retries.
func (r *Rollout) awaitReady(ctx context.Context, member int, of *appsv1.StatefulSet,
	earlier map[string]int32) error {
	name := r.pod(member)
	return kubeclient.Wait(ctx, r.opt.Every, r.opt.Patience, func(ctx context.Context) (string, error) {
		pod, err := kubeclient.Pods.Get(ctx, r.c, r.at.Namespace, name)
		switch {
		case kubeclient.IsMissing(err):
			return "pod " + name + " has not been recreated yet", nil
		case err != nil:
			return "", err
		case discover.Ready(pod) && (of == nil || fits(pod, of)):
			return "", nil
		case discover.Ready(pod):
			return "pod " + name + " still has the old template", nil
		}

		for id, code := range failures(pod) {
			if _, known := earlier[id]; !known {
				return "", steps.Inputf(fmt.Sprintf("for the reason, run kubectl logs -n %s %s -c %s",
					r.at.Namespace, name,
					emit.Mover),
					"the log of pod %s was not moved, and its database does not start: its init container %s exited with code %d",
					name, emit.Mover, code)
			}
		}

		return fmt.Sprintf("pod %s is not ready: %s", name, trouble(pod)), nil
	})
}
