//go:build linux

package clustertest

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"plimsoll/internal/record/kubeclient"
)

// drive is the CSI driver with its provisioner and resizer, for the set's claims.
func (p *Play) drive(ctx context.Context) error {
	claims, err := kubeclient.Claims.List(ctx, p.C, ns, "")
	if err != nil {
		return err
	}

	for i := range claims {
		c := &claims[i]
		if !strings.HasSuffix(strings.TrimRight(c.Name, "0123456789"), "-"+p.Name+"-") {
			continue
		}

		size := c.Spec.Resources.Requests[corev1.ResourceStorage]
		if c.Spec.VolumeName == "" {
			if c, err = p.provision(ctx, c, size); err != nil {
				return err
			}
			c.Status = corev1.PersistentVolumeClaimStatus{
				Phase: corev1.ClaimBound, AccessModes: c.Spec.AccessModes,
				Capacity:                         corev1.ResourceList{corev1.ResourceStorage: size},
				CurrentVolumeAttributesClassName: c.Spec.VolumeAttributesClassName,
			}
		} else if !p.change(c, size) {
			continue
		}

		if _, err := kubeclient.Claims.UpdateStatus(ctx, p.C, ns, c.Name, c); err != nil {
			return err
		}
	}

	return nil
}

// change begins to change a claim's volume, or ends it, and reports whether the claim's status did.
func (p *Play) change(c *corev1.PersistentVolumeClaim, size resource.Quantity) bool {
	has, class := c.Status.Capacity[corev1.ResourceStorage], value(c.Spec.VolumeAttributesClassName)
	grows, modifies := has.Cmp(size) < 0, value(c.Status.CurrentVolumeAttributesClassName) != class
	switch {
	case !grows && !modifies, modifies && class == p.Infeasible && c.Status.ModifyVolumeStatus != nil:
		return false
	case modifies && class == p.Infeasible:
		c.Status.ModifyVolumeStatus = &corev1.ModifyVolumeStatus{TargetVolumeAttributesClassName: class,
			Status: corev1.PersistentVolumeClaimModifyVolumeInfeasible}
		return true
	case !p.underway[c.UID]:
		p.underway[c.UID] = true
		if modifies {
			c.Status.ModifyVolumeStatus = &corev1.ModifyVolumeStatus{TargetVolumeAttributesClassName: class,
				Status: corev1.PersistentVolumeClaimModifyVolumeInProgress}
		}
		if grows {
			c.Status.Conditions = []corev1.PersistentVolumeClaimCondition{{Type: corev1.PersistentVolumeClaimResizing,
				Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}}
		}
		return true
	}

	delete(p.underway, c.UID)
	c.Status.ModifyVolumeStatus, c.Status.Conditions = nil, nil
	c.Status.CurrentVolumeAttributesClassName = c.Spec.VolumeAttributesClassName
	c.Status.Capacity = corev1.ResourceList{corev1.ResourceStorage: size}

	return true
}

func value(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// provision makes a volume and binds the claim to it.
func (p *Play) provision(ctx context.Context, c *corev1.PersistentVolumeClaim,
	size resource.Quantity) (*corev1.PersistentVolumeClaim, error) {
	pv := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "pvc-" + string(c.UID)},
		Spec: corev1.PersistentVolumeSpec{
			Capacity: corev1.ResourceList{corev1.ResourceStorage: size}, AccessModes: c.Spec.AccessModes,
			StorageClassName:              value(c.Spec.StorageClassName),
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			VolumeAttributesClassName:     c.Spec.VolumeAttributesClassName,
			ClaimRef: &corev1.ObjectReference{Kind: "PersistentVolumeClaim", APIVersion: "v1",
				Namespace: ns, Name: c.Name, UID: c.UID},
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{
				Driver: p.Provider, VolumeHandle: "vol-" + c.Name, FSType: "xfs"}},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{
				NodeSelectorTerms: []corev1.NodeSelectorTerm{{
					MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelTopologyZone,
						Operator: corev1.NodeSelectorOpIn, Values: []string{p.Zone}}},
				}}}},
		},
	}

	if _, err := kubeclient.Volumes.Create(ctx, p.C, "", pv, false); err != nil && !kubeclient.IsThere(err) {
		return nil, err
	}

	c.Spec.VolumeName = pv.Name
	return kubeclient.Claims.Update(ctx, p.C, ns, c.Name, c)
}
