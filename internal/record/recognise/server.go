package recognise

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"

	"plimsoll/internal/record/address"
	"plimsoll/internal/record/exposition"
	"plimsoll/internal/record/recording"
)

// hostPort matches an address without a scheme.
var hostPort = regexp.MustCompile(`^(\[[0-9a-fA-F:]+\]|[A-Za-z0-9._-]+):(\d+)(/.*)?$`)

// openURL opens an address by its scheme, and recognises what answers there.
func (o *Opener) openURL(ctx context.Context, arg, scheme string, opt OpenOptions) (Input, error) {
	switch scheme {
	case "http", "https":
	case "file":
		return o.Open(ctx, strings.TrimPrefix(arg, "file://"), opt)
	default:
		if cloud := o.clouds[scheme]; cloud != nil {
			return asInput(cloud.Open(ctx, arg))
		}
		if engine := o.live[scheme]; engine != nil {
			return asInput(engine.Open(ctx, arg,
				LiveOptions{Insecure: opt.Insecure, Getenv: opt.Getenv, Within: opt.Within, Room: opt.Room}))
		}
		return Input{}, fmt.Errorf("unknown scheme %q: give %s, a file or a folder", scheme,
			o.addresses())
	}

	u, err := address.ParseURL(arg)
	if err != nil || u.Host == "" {
		return Input{},
			errors.New("the URL is not valid (special characters in a password must be percent-encoded): want for example http://host:9216/metrics")
	}

	if isMetricsPath(u.Path) {
		return o.openMetrics(ctx, arg, opt)
	}

	return o.openServer(ctx, arg, u, opt)
}

// TakesCredentials reports whether the credentials in the environment may be sent to a server at an
// address with the scheme.
func (o *Opener) TakesCredentials(scheme string) bool {
	engine := o.live[scheme]
	return scheme == "http" || scheme == "https" || engine != nil && !engine.OwnCredentials
}

// addresses lists the schemes of addresses: "http://, https:// or etcd://".
func (o *Opener) addresses() string {
	all := append([]string{"http", "https"}, o.schemes...)
	last := len(all) - 1
	return strings.Join(all[:last], "://, ") + ":// or " + all[last] + "://"
}

// isMetricsPath reports whether a path is that of a page of metrics, not the root of a server.
func isMetricsPath(path string) bool {
	switch filepath.Base(path) {
	case "metrics", "federate", "probe", "vars":
		return true
	}
	return strings.Contains(path, "/metrics/")
}

func (o *Opener) openMetrics(ctx context.Context, arg string, opt OpenOptions) (Input, error) {
	src, err := exposition.OpenURL(arg,
		exposition.URLOptions{Insecure: opt.Insecure, Transport: opt.Transport, Getenv: opt.Getenv,
			Exporters: o.exporters, Within: opt.Within, Room: opt.Room})
	if err != nil {
		return Input{}, err
	}
	if err := exposition.Probe(ctx, src); err != nil {
		return Input{}, err
	}
	return Input{Source: src}, nil
}

// openServer requests Prometheus's API at an address and, concurrently, a page of metrics there or
// under /metrics. (Prometheus itself has such a page, so the API takes precedence.)
func (o *Opener) openServer(ctx context.Context, arg string, base *url.URL, opt OpenOptions) (Input, error) {
	type answer struct {
		in  Input
		err error
	}

	pages := make(chan answer, 1)
	go func() {
		v := *base
		v.Path = strings.TrimSuffix(base.Path, "/") + "/metrics"
		in, err := o.openMetrics(ctx, v.String(), opt)
		// The path may already be that of the page.
		if err != nil && strings.Trim(base.Path, "/") != "" {
			if exact, exactErr := o.openMetrics(ctx, arg, opt); exactErr == nil {
				in, err = exact, nil
			}
		}
		pages <- answer{in, err}
	}()

	r, apiErr := recording.Remote(ctx, arg, remoteOptions(opt))
	page := <-pages
	if apiErr == nil {
		return Input{Reader: r}, nil
	}
	if page.err == nil {
		return page.in, nil
	}

	if err := ctx.Err(); err != nil {
		return Input{}, err
	}

	var refused *exposition.Refused
	// Something that speaks HTTP answered; otherwise the failure of the connection is the better
	// error.
	answered := errors.As(page.err, &refused) || errors.Is(page.err, exposition.ErrNotMetrics)
	denied := refused != nil && (refused.Status == http.StatusUnauthorized ||
		refused.Status == http.StatusForbidden)
	if !answered || denied {
		if s := o.ports[base.Port()]; s != "" && refused == nil {
			return Input{}, fmt.Errorf("%w; for the database itself write %s://%s", page.err, s, base.Host)
		}
		return Input{}, page.err
	}

	if strings.Contains(apiErr.Error(), recording.EnvToken) { // the server asks for credentials
		return Input{}, apiErr
	}

	return Input{},
		fmt.Errorf("%s responds, but has neither Prometheus's API (/api/v1/query) nor metrics (/metrics): give the address of a page of metrics or of a Prometheus server",
			address.PublicURL(base))
}

// remoteOptions passes the general credentials on if there are none specific to Prometheus.
func remoteOptions(opt OpenOptions) recording.RemoteOptions {
	o := recording.RemoteOptions{From: opt.From, To: opt.To, Selector: opt.Selector, Transport: opt.Transport,
		Timeout: opt.Within, Getenv: opt.Getenv}
	if opt.Getenv(recording.EnvToken) == "" && opt.Getenv(recording.EnvTokenFile) == "" &&
		opt.Getenv(recording.EnvUser) == "" {
		o.Token = opt.Getenv(exposition.EnvToken)
		o.User, o.Password = opt.Getenv(exposition.EnvUser), opt.Getenv(exposition.EnvPassword)
	}
	return o
}
