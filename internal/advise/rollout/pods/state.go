package pods

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"plimsoll/internal/advise/discover"
	"plimsoll/internal/advise/emit"
	"plimsoll/internal/advise/rollout/steps"
	"plimsoll/internal/record/kubeclient"
)

const (
	stateVersion = 1
	stateKey     = "state.json"
)

// A State is the progress of a rollout and everything needed to continue it.
type State struct {
	Version   int       `json:"version"`
	Started   time.Time `json:"started"`
	Plan      string    `json:"plan"`   // its file name, for messages
	Engine    string    `json:"engine"` // its key in scenarios
	Direction string    `json:"direction"`
	// Before is the original StatefulSet. After and Back in Change include the server's defaults.
	Before *appsv1.StatefulSet `json:"before"`
	Change *emit.ClusterChange `json:"change"`
	// Had are the original VolumeAttributesClasses of the claims that change and had one, by claim.
	Had map[string]string `json:"had,omitempty"`
	// Left are the plan's changes that the rollout does not make.
	Left  []emit.Change `json:"left"`
	Steps []steps.State `json:"steps"`
	// Recorded configures the recordings before and after; nil: none.
	Recorded *Recorded `json:"recorded,omitempty"`
	// Proof is the verdict of comparing the recordings, and ProofText the same in a sentence; "" before.
	Proof     string `json:"proof,omitempty"`
	ProofText string `json:"proof_text,omitempty"`
}

// Recorded is what a rollout records before and after, where, and for how long.
type Recorded struct {
	Sources []string `json:"sources"`
	Dir     string   `json:"dir"` // on the machine where the rollout began
	For     string   `json:"for"`
}

// active reports whether the rollout must end before another one can begin.
func (s *State) active() bool {
	return s != nil && steps.HasBegun(s.Steps) && s.Direction != steps.IsUndone &&
		s.Direction != steps.IsFinished
}

// A store keeps the state in a ConfigMap.
type store struct {
	c       *kubeclient.Client
	at      discover.Address
	version string // ResourceVersion of the ConfigMap last read or written; "": none exists
}

func (s *store) name() string { return "plimsoll-rollout-" + s.at.Name }

// load reads the state; it returns nil if there is none.
func (s *store) load(ctx context.Context) (*State, error) {
	m, err := kubeclient.ConfigMaps.Get(ctx, s.c, s.at.Namespace, s.name())
	if kubeclient.IsMissing(err) {
		return nil, nil
	}

	if err != nil {
		return nil, err
	}

	var of struct{ Version int }
	out := &State{}
	err = json.Unmarshal([]byte(m.Data[stateKey]), &of) // first: a later version may have other fields
	if err == nil && of.Version != stateVersion {
		return nil, steps.Inputf("use the version of plimsoll that wrote it",
			"ConfigMap %s has version %d, this program reads %d", s.name(), of.Version, stateVersion)
	}

	if err == nil {
		err = json.Unmarshal([]byte(m.Data[stateKey]), out)
	}

	if err != nil {
		return nil, steps.Inputf("restore it; without it the rollout's progress is unknown",
			"cannot read ConfigMap %s: %v", s.name(), err)
	}

	s.version = m.ResourceVersion
	return out, nil
}

// save replaces the state. It fails if another process has replaced it since this one read it.
func (s *store) save(ctx context.Context, state *State) error {
	text, err := json.Marshal(state)
	if err != nil {
		return err
	}

	m := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: s.name(), Namespace: s.at.Namespace, ResourceVersion: s.version,
			Labels: map[string]string{"app.kubernetes.io/managed-by": "plimsoll"}},
		Data: map[string]string{stateKey: string(text)},
	}

	var out *corev1.ConfigMap
	if s.version == "" {
		out, err = kubeclient.ConfigMaps.Create(ctx, s.c, s.at.Namespace, m, false)
	} else {
		out, err = kubeclient.ConfigMaps.Update(ctx, s.c, s.at.Namespace, s.name(), m)
	}

	if kubeclient.IsConflict(err) || kubeclient.IsThere(err) {
		return fmt.Errorf("another process is working on the rollout of %s: %w", s.at, errors.Join(errTaken, err))
	}

	if err == nil {
		s.version = out.ResourceVersion
	}

	return err
}

var errTaken = errors.New("its ConfigMap has changed")
