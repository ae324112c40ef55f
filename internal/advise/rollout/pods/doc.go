// Package pods carries out a plan on a StatefulSet through the API of its Kubernetes cluster.
//
// It changes claims in use in place, one member after the other: they get a VolumeAttributesClass or
// grow. A log moves to a separate claim while its pod is recreated. The init container that package emit
// writes moves it, and does not let the database start on an empty log.
//
// # What makes that safe
//
// A rollout never deletes a claim, volume or class. It deletes a pod only while all others are ready, by
// its UID, and the next pod only after the new one is ready. Meanwhile the StatefulSet's update strategy
// is OnDelete, so that nothing else restarts pods, and each write of the set carries the version that was
// read.
//
// The rollout determines what a step has done from the objects instead of a record: it compares the
// StatefulSet's specification with those that it writes, and a pod with its template. If the
// specification matches none of them, the set was changed elsewhere, and the rollout stops. So each step
// can be interrupted anywhere and repeated. A ConfigMap next to the set stores the progress. Only the
// process that read its latest version can replace it: of two processes, the slower one stops before its
// next step.
//
// # The order of the pods
//
// Claim templates are immutable, so the rollout deletes the set without its pods and recreates it. A pod
// that is older than a claim template cannot get the claim: the controller fails at the first such pod,
// and creates no pod with a higher ordinal (kubernetes issue 141876; pkg/controller/statefulset,
// processReplica). Therefore the rollout recreates pods from the lowest ordinal upwards. In the opposite
// order, the first deleted pod would never come back.
package pods
