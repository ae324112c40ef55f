// Package pod reads what a provider measures about the volumes of a Kubernetes pod: it finds them
// by the claims of the pod and passes their addresses to the provider's source.
//
//	k8s://db/mongo-0
//	k8s://mongo-0?context=production
//
// It accesses the cluster like kubectl, and the provider like the provider's own tools. It only
// reads.
package pod

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"plimsoll/internal/record/kubeclient"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

// A Provider opens the addresses of one cloud's volumes.
type Provider interface {
	// Scheme returns the scheme of the addresses, without "://".
	Scheme() string
	// Open prepares an address.
	Open(ctx context.Context, address string) (source.Source, error)
}

// Cloud opens addresses of pods.
type Cloud struct {
	// Providers read the volumes.
	Providers []Provider
}

// Scheme returns the scheme of the addresses.
func (Cloud) Scheme() string { return "k8s" }

// Begins returns the prefixes of the addresses.
func (Cloud) Begins() []string { return []string{"k8s://"} }

// name matches the names of namespaces and pods.
var name = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$`)

// Open prepares an address. It sends no requests.
func (c Cloud) Open(_ context.Context, arg string) (source.Source, error) {
	const form = "the k8s:// address is not valid: want k8s://NAMESPACE/POD, with ?context= unless the current context of the kubeconfig is the right cluster"
	u, err := url.Parse(arg)
	if err != nil || u.User != nil || u.Fragment != "" {
		return nil, errors.New(form)
	}

	s := &volumes{cloud: c, namespace: u.Host, name: strings.Trim(u.Path, "/")}
	if s.name == "" {
		s.namespace, s.name = "", u.Host
	}

	if !name.MatchString(s.name) || s.namespace != "" && !name.MatchString(s.namespace) {
		return nil, errors.New(form)
	}

	for key, values := range u.Query() {
		if key != "context" {
			return nil, fmt.Errorf("unknown parameter ?%s=: want context", key)
		}
		s.context = values[0]
	}

	s.SetDescription(recording.Source{Kind: "kubernetes", Name: strings.TrimSuffix("k8s://"+u.Host+u.Path, "/")})
	return s, nil
}

// volumes is the source: the volumes of a pod.
type volumes struct {
	source.Recorded
	cloud                    Cloud
	namespace, name, context string

	read []source.Source // so far
}

// Charge implements [source.Charged].
func (s *volumes) Charge() string {
	var all []string
	for _, x := range s.read {
		if c, ok := x.(source.Charged); ok {
			all = append(all, x.Describe().Name+": "+c.Charge())
		}
	}
	if len(all) == 0 {
		return "no requests to providers"
	}
	return strings.Join(all, "; ")
}

// Read implements [source.Source]. An unreadable volume is noted; it is an error only if none is
// readable.
func (s *volumes) Read(ctx context.Context, w recording.Writer, opt source.Options) error {
	desc := s.Describe()
	found, err := s.find(ctx)
	if err != nil {
		return err
	}

	note := func(format string, args ...any) {
		w.Note(recording.Note{Kind: recording.NoteLimit, Source: desc.Name, Text: fmt.Sprintf(format, args...)})
	}
	for _, text := range found.notes {
		note("%s", text)
	}

	var failed error
	good := 0
	for _, a := range found.addresses {
		err := s.readOne(ctx, a, &factual{Writer: w, facts: found.facts}, opt)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil:
			good++
		default:
			// Other volumes of the pod may still be readable.
			failed = errors.Join(failed, err)
		}
	}

	if good == 0 {
		return failed
	}

	if failed != nil {
		note("%v", failed)
	}

	return nil
}

// readOne reads an address from its provider.
func (s *volumes) readOne(ctx context.Context, address string, w recording.Writer, opt source.Options) error {
	scheme, _, _ := strings.Cut(address, "://")
	for _, p := range s.cloud.Providers {
		if p.Scheme() != scheme {
			continue
		}
		src, err := p.Open(ctx, address)
		if err != nil {
			return err
		}
		s.read = append(s.read, src)
		return src.Read(ctx, w, opt)
	}
	return fmt.Errorf("cannot read %s: no provider for this scheme", address)
}

// factual adds the cluster's facts about a volume to the facts of its source.
type factual struct {
	recording.Writer
	facts map[string]string // by the name of the device in the source
}

// Source implements [recording.Writer].
func (w *factual) Source(d recording.Source) {
	facts := map[string]string{}
	for k, v := range d.Facts {
		facts[k] = v
		if device, ok := strings.CutPrefix(k, "volume."); ok && w.facts[device] != "" {
			facts["claim."+device] = w.facts[device]
		}
	}
	d.Facts = facts
	w.Writer.Source(d)
}

// open connects to the cluster.
func (s *volumes) open() (*kubeclient.Client, error) {
	c, err := kubeclient.Open(kubeclient.Options{Context: s.context, Namespace: s.namespace})
	if err == nil && s.namespace == "" {
		s.namespace = c.Namespace
	}
	return c, err
}
