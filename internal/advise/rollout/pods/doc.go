// Package pods carries out a plan on a StatefulSet, through the API of its Kubernetes cluster.
//
// Claims in use are changed in place: they get a VolumeAttributesClass or grow, one member after the
// other. A log moves to a claim of its own while its pod is made anew, by the init container that
// package emit writes: it does not let the database start on an empty log.
//
// # What makes that safe
//
// No claim, volume or class is ever deleted. A pod is deleted only while all others are ready, by its
// UID, and the next one only when the new pod is ready. The StatefulSet updates OnDelete meanwhile,
// so that nothing else restarts pods, and each write of it carries the version that was read.
//
// What a step has done is seen from the objects, not remembered: the StatefulSet's specification is
// compared with the ones that this rollout writes, and a pod with its template. If it is none of
// them, somebody else changed it, and the rollout stops. So each step can be cut off anywhere and run
// again. Where it stands is in a ConfigMap beside the set, which is replaced only by the process that
// read its last version: of two processes, the slower one stops before its next step.
//
// # The order of the pods
//
// Claim templates cannot be changed, so the set is deleted without its pods and made again. A pod
// that is older than a template cannot get its claim: the controller fails at the first such pod,
// and makes no pod behind it (kubernetes issue 141876; pkg/controller/statefulset, processReplica).
// Pods are therefore made anew from the lowest ordinal on. From the highest on, the first deleted
// pod would never come back.
package pods
