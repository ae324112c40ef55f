package kubeclient

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"plimsoll/internal/record/httpclient"
)

// Options select the cluster and the credentials. The zero Options mean what kubectl would use.
type Options struct {
	Kubeconfig string // a file; "": $KUBECONFIG, ~/.kube/config, or the pod's service account
	Context    string // of the kubeconfig; "": its current one
	Namespace  string // "": the context's
	// PerSecond bounds the requests per second. 0 means 50.
	PerSecond int
	// Within bounds the time for one answer. 0 means 30 seconds.
	Within time.Duration
}

// A Client accesses one API server.
type Client struct {
	// Host is the server's address, for messages.
	Host string
	// Namespace is the requested namespace, or that of the context.
	Namespace string

	rest *rest.RESTClient
}

// answerWithin bounds the time for one answer.
const answerWithin = 30 * time.Second

// Limits of answers. A pod has several hundred JSON objects, most of them about field managers.
const (
	answerBytesMax   = 32 << 20
	answerObjectsMax = 300_000
	listBytesMax     = 128 << 20 // of all pages of a list
	listObjectsMax   = 1_000_000
	// listWithin bounds the time for all pages of a list.
	listWithin = 2 * time.Minute
)

// requestsPerSecond is enough: a rollout reads a handful of objects every second.
const requestsPerSecond = 50

// Open finds the cluster and the credentials. It does not call the server yet. If the configuration
// is missing or unusable, the error is an [*AccessError].
func Open(o Options) (*Client, error) {
	silence()

	files := clientcmd.NewDefaultClientConfigLoadingRules()
	files.ExplicitPath = o.Kubeconfig
	files.WarnIfAllMissing = false
	over := &clientcmd.ConfigOverrides{CurrentContext: o.Context}
	over.Context.Namespace = o.Namespace
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(files, over)
	config, err := loader.ClientConfig()

	if absent := absentFile(o.Kubeconfig, err); absent != nil {
		return nil, absent
	}
	if clientcmd.IsEmptyConfig(err) {
		return nil, &AccessError{Text: "no Kubernetes cluster is configured",
			Next: "give --kubeconfig FILE, or set KUBECONFIG; in a pod, Plimsoll uses its service account"}
	}
	if err != nil {
		return nil, &AccessError{Text: "cannot use the kubeconfig" + unusable(err),
			Next: "kubectl config get-contexts lists the contexts", err: err}
	}

	namespace, _, err := loader.Namespace()
	if err != nil {
		return nil, &AccessError{Text: "cannot use the kubeconfig" + unusable(err),
			Next: "give -n NAMESPACE", err: err}
	}

	// Without any timeout, a server that accepts connections but never answers would block forever.
	config.Timeout = cmp.Or(o.Within, config.Timeout, answerWithin)
	return open(config, namespace, cmp.Or(o.PerSecond, requestsPerSecond))
}

// absentFile explains the error of a configuration whose explicitly named files do not exist. It returns nil
// if the error has another cause.
func absentFile(named string, err error) error {
	of := clientcmd.RecommendedConfigPathEnvVar
	switch {
	case named != "" && errors.Is(err, fs.ErrNotExist):
		return &AccessError{Text: "the kubeconfig " + named + " does not exist",
			Next: "correct --kubeconfig, or omit it to use $" + of + " or ~/.kube/config", err: err}
	case named != "" || !clientcmd.IsEmptyConfig(err):
		return nil
	}

	files := slices.DeleteFunc(filepath.SplitList(os.Getenv(of)), func(f string) bool { return f == "" })
	if len(files) == 0 || slices.ContainsFunc(files, exists) {
		return nil
	}

	text := of + " names " + files[0] + ", which does not exist"
	if len(files) > 1 {
		text = of + " names " + strings.Join(files, ", ") + ", none of which exists"
	}

	return &AccessError{Text: text,
		Next: "set it to a kubeconfig, or unset it to use ~/.kube/config", err: err}
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return !errors.Is(err, fs.ErrNotExist)
}

// silence turns off client-go's log, which only repeats the errors that it returns.
var silence = sync.OnceFunc(func() { klog.SetSlogLogger(slog.New(slog.DiscardHandler)) })

func open(config *rest.Config, namespace string, perSecond int) (*Client, error) {
	silence()
	config = rest.CopyConfig(config)
	config.GroupVersion = &schema.GroupVersion{}
	config.NegotiatedSerializer = statuses
	config.WarningHandler = rest.NoWarnings{}
	config.UserAgent = "plimsoll"
	config.QPS, config.Burst = float32(perSecond), 2*perSecond
	config.Wrap(func(rt http.RoundTripper) http.RoundTripper {
		return httpclient.Transport(httpclient.Options{Base: rt,
			Most: httpclient.Bounds{Bytes: answerBytesMax, Objects: answerObjectsMax}})
	})

	sender, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, &AccessError{Text: "cannot use the kubeconfig" + unusable(err), err: err}
	}

	// An API server never redirects, and client-go would send the token to the target of a
	// redirect.
	sender.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	client, err := rest.UnversionedRESTClientForConfigAndClient(config, sender)
	if err != nil {
		return nil, &AccessError{Text: "cannot use the kubeconfig" + unusable(err), err: err}
	}

	host := config.Host
	if u, err := url.Parse(host); err == nil && u.Host != "" {
		host = u.Host
	}

	return &Client{Host: host, Namespace: namespace, rest: client}, nil
}

// statuses decodes the server's description of a failed request.
var statuses = func() runtime.NegotiatedSerializer {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	return serializer.NewCodecFactory(scheme).WithoutConversion()
}()

// Wait calls poll at intervals until it is done, fails, or ctx ends. poll returns what is still
// missing in words, for the error after a timeout.
func Wait(ctx context.Context, every, most time.Duration,
	poll func(context.Context) (missing string, err error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, most, errTooLong)
	defer cancel()

	last := "no answer yet"
	for {
		missing, err := poll(ctx)
		switch {
		case err == nil && missing == "":
			return nil
		case err == nil:
			last = missing
		case ctx.Err() == nil && !transient(err):
			return err
		case ctx.Err() == nil:
			last = err.Error()
		}

		select {
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), errTooLong) {
				return fmt.Errorf("after %s: %s", most, last)
			}
			return ctx.Err()
		case <-time.After(every):
		}
	}
}

var errTooLong = errors.New("waited too long")
