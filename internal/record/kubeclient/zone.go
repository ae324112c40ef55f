package kubeclient

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Zone returns the zone of a volume, from its node affinity or its label, or "" if it has none.
func Zone(pv *corev1.PersistentVolume) string {
	if pv == nil {
		return ""
	}

	if pv.Spec.NodeAffinity != nil && pv.Spec.NodeAffinity.Required != nil {
		for _, term := range pv.Spec.NodeAffinity.Required.NodeSelectorTerms {
			for _, e := range term.MatchExpressions {
				// CSI drivers use their own keys: topology.ebs.csi.aws.com/zone,
				// topology.gke.io/zone.
				if e.Operator == corev1.NodeSelectorOpIn && len(e.Values) == 1 &&
					(e.Key == corev1.LabelTopologyZone || strings.HasPrefix(e.Key, "topology.") &&
						strings.HasSuffix(e.Key, "/zone")) {
					return e.Values[0]
				}
			}
		}
	}

	return pv.Labels[corev1.LabelTopologyZone]
}

// NodeZone returns the zone of a node, or "" if it is unknown.
func NodeZone(n *corev1.Node) string {
	if n == nil {
		return ""
	}
	return n.Labels[corev1.LabelTopologyZone]
}
