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
	"plimsoll/internal/record/cluster"
)

// Directions of a rollout.
const (
	Forward  = steps.GoesForward
	Undoing  = steps.GoesBack
	Undone   = steps.IsUndone
	Finished = steps.IsFinished
)

const (
	stateVersion = 1
	stateKey     = "state.json"
)

// A State is where a rollout stands, and all that it takes to continue.
type State struct {
	Version   int       `json:"version"`
	Started   time.Time `json:"started"`
	Plan      string    `json:"plan"`   // its file, for messages
	Engine    string    `json:"engine"` // its key in scenarios
	Direction string    `json:"direction"`
	// Before is the StatefulSet as it was. After and Back in the change have the server's defaults.
	Before *appsv1.StatefulSet `json:"before"`
	Change *emit.ClusterChange `json:"change"`
	// Had are the VolumeAttributesClasses that claims had, by claim: those that change and had one.
	Had map[string]string `json:"had,omitempty"`
	// Left are the plan's changes that are not made.
	Left  []emit.Change `json:"left"`
	Steps []steps.State `json:"steps"`
	// Recorded is what is recorded before and after; nil for nothing.
	Recorded *Recorded `json:"recorded,omitempty"`
	// Proof is what comparing the recordings said, and ProofText that in a sentence; "" before.
	Proof     string `json:"proof,omitempty"`
	ProofText string `json:"proof_text,omitempty"`
}

// Recorded says what is recorded before and after, where to, and for how long.
type Recorded struct {
	Sources []string `json:"sources"`
	Dir     string   `json:"dir"` // on the machine that the rollout began on
	For     string   `json:"for"`
}

// active reports whether another rollout must not begin over this one.
func (s *State) active() bool {
	return s != nil && steps.HasBegun(s.Steps) && s.Direction != Undone && s.Direction != Finished
}

// A store keeps the state in a ConfigMap.
type store struct {
	c       *cluster.Client
	at      discover.Address
	version string // the ConfigMap's that was read or written last; "": there is none
}

func (s *store) name() string { return "plimsoll-rollout-" + s.at.Name }

// load reads the state; nil if there is none.
func (s *store) load(ctx context.Context) (*State, error) {
	m, err := cluster.ConfigMaps.Get(ctx, s.c, s.at.Namespace, s.name())
	if cluster.IsMissing(err) {
		return nil, nil
	}

	if err != nil {
		return nil, err
	}

	var of struct{ Version int }
	out := &State{}
	err = json.Unmarshal([]byte(m.Data[stateKey]), &of) // first: a later version may have other fields
	if err == nil && of.Version != stateVersion {
		return nil, steps.Inputf("use the plimsoll that made it",
			"ConfigMap %s is of version %d, this program reads %d", s.name(), of.Version, stateVersion)
	}

	if err == nil {
		err = json.Unmarshal([]byte(m.Data[stateKey]), out)
	}

	if err != nil {
		return nil, steps.Inputf("restore it; without it nothing is known of the rollout",
			"ConfigMap %s cannot be read: %v", s.name(), err)
	}

	s.version = m.ResourceVersion
	return out, nil
}

// save replaces the state, unless another process did since it was read.
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
		out, err = cluster.ConfigMaps.Create(ctx, s.c, s.at.Namespace, m, false)
	} else {
		out, err = cluster.ConfigMaps.Update(ctx, s.c, s.at.Namespace, s.name(), m)
	}

	if cluster.IsConflict(err) || cluster.IsThere(err) {
		return fmt.Errorf("another process works on the rollout of %s: %w", s.at, errors.Join(errTaken, err))
	}

	if err == nil {
		s.version = out.ResourceVersion
	}

	return err
}

var errTaken = errors.New("its ConfigMap has changed")
