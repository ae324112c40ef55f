package pod

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"plimsoll/internal/record/kubeclient"
)

// A finding says where the volumes of a pod are measured.
type finding struct {
	addresses []string
	facts     map[string]string // claims and mounts, by device
	notes     []string
}

// find reads the pod, its claims and their volumes.
func (s *volumes) find(ctx context.Context) (*finding, error) {
	client, err := s.open()
	if err != nil {
		return nil, err
	}

	pod, err := kubeclient.Pods.Get(ctx, client, s.namespace, s.name)
	if kubeclient.IsMissing(err) {
		return nil, &kubeclient.AccessError{Text: fmt.Sprintf("pod %s not found in namespace %s", s.name,
			s.namespace),
			Next: "kubectl get pods -n " + s.namespace +
				" lists the pods; those of a StatefulSet NAME are NAME-0, NAME-1, and so on"}
	}

	if err != nil {
		return nil, err
	}

	out := &finding{facts: map[string]string{}}
	var ebs []string
	region := ""

	seen := map[string]bool{}
	for _, vol := range pod.Spec.Volumes {
		claim := claimOf(pod, &vol)
		if claim == "" || seen[claim] {
			continue // a pod may use one claim as several volumes
		}

		if len(seen) >= claimsMax {
			out.notes = append(out.notes, fmt.Sprintf("the pod has more than %d claims: skipped the others",
				claimsMax))
			break
		}

		// Marked before reading, so that a claim is requested at most once.
		seen[claim] = true
		pv, err := s.bound(ctx, client, claim)
		if err != nil {
			return nil, err
		}

		at := locate(pv)
		switch {
		case at.why != "":
			out.notes = append(out.notes, fmt.Sprintf("claim %s: %s", claim, at.why))
			continue
		case at.ebs:
			ebs, region = append(ebs, at.device), cmp.Or(region, regionOf(kubeclient.Zone(pv)))
		default:
			out.addresses = append(out.addresses, at.address)
		}

		out.facts[at.device] = claim + mounts(pod, vol.Name)
	}

	if len(ebs) > 0 { // in one address, because they share their instance
		address := "aws://" + strings.Join(ebs, ",")
		if region != "" {
			address += "?region=" + region
		}
		out.addresses = append(out.addresses, address)
	}

	switch {
	case len(out.addresses) > 0:
		return out, nil
	case len(out.notes) > 0:
		return nil, errors.New(strings.Join(out.notes, "; "))
	}

	return nil,
		fmt.Errorf("pod %s has no claims: its volumes belong to the node, and no provider measures them separately",
			s.name)
}

// claimsMax bounds the claims of a pod. Nodes attach at most 128 volumes.
const claimsMax = 128

// claimOf returns the name of the claim of a pod's volume, or "" if it has none.
func claimOf(pod *corev1.Pod, v *corev1.Volume) string {
	switch {
	case v.PersistentVolumeClaim != nil:
		return v.PersistentVolumeClaim.ClaimName
	case v.Ephemeral != nil:
		return pod.Name + "-" + v.Name
	}
	return ""
}

// bound returns the volume of a claim.
func (s *volumes) bound(ctx context.Context, c *kubeclient.Client,
	name string) (*corev1.PersistentVolume, error) {
	claim, err := kubeclient.Claims.Get(ctx, c, s.namespace, name)
	if err != nil {
		return nil, err
	}
	if claim.Spec.VolumeName == "" {
		return nil, &kubeclient.AccessError{Text: fmt.Sprintf("claim %s is not bound to a volume", name),
			Next: fmt.Sprintf("kubectl describe pvc %s -n %s shows why", name, s.namespace)}
	}
	return kubeclient.Volumes.Get(ctx, c, "", claim.Spec.VolumeName)
}

// A place is a volume's address at its provider.
type place struct {
	address string
	device  string // its name in the provider's series
	ebs     bool   // the device is the address
	why     string // why there is no address
}

// locate parses the volume's handle in the format of the provider's CSI driver.
func locate(pv *corev1.PersistentVolume) place {
	csi := pv.Spec.CSI
	if csi == nil {
		return place{why: "its volume " + pv.Name +
			" has no CSI driver, so the provider's name for it is unknown"}
	}

	handle := csi.VolumeHandle
	switch csi.Driver {
	case "ebs.csi.aws.com", "ebs.csi.eks.amazonaws.com":
		return place{device: handle, ebs: true}
	case "pd.csi.storage.gke.io":
		if !strings.Contains(handle, "/zones/") {
			return place{why: "its disk " + handle +
				" is in two zones, and Google measures it where it is attached: give gcp://projects/P/zones/Z/instances/I"}
		}
		return place{address: "gcp://" + handle, device: path.Base(handle)}
	case "disk.csi.azure.com":
		return place{address: "azure://" + handle, device: path.Base(handle)}
	}

	return place{why: "its driver " + csi.Driver +
		" is not supported: want one of AWS, Azure or Google Cloud"}
}

// mounts returns where a pod mounts a volume, as text.
func mounts(pod *corev1.Pod, volume string) string {
	for i := range pod.Spec.Containers {
		for _, m := range pod.Spec.Containers[i].VolumeMounts {
			if m.Name == volume {
				return ", mounted by " + pod.Spec.Containers[i].Name + " at " + m.MountPath
			}
		}
	}
	return ""
}

// regionOf returns the region of an AWS zone: "eu-central-1" for "eu-central-1a". It returns "" for
// others, such as local zones.
func regionOf(zone string) string {
	region := strings.TrimRight(zone, "abcdefghijklmnopqrstuvwxyz")
	if len(zone)-len(region) != 1 || strings.Count(region, "-") < 2 {
		return ""
	}
	return region
}
