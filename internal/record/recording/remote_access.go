package recording

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"

	"plimsoll/internal/record/httpclient"
)

// EnvTokenFile names a file with the bearer token. It is read for each request, because Kubernetes
// replaces tokens while they are in use.
const EnvTokenFile = "PLIMSOLL_PROMETHEUS_TOKEN_FILE"

// credentials takes them from the URL, the options or the environment.
func credentials(u *url.URL, opt RemoteOptions) httpclient.Credentials {
	getenv := opt.Getenv
	if getenv == nil {
		getenv = os.Getenv
	}

	own, ok := httpclient.OfURL(u, cmp.Or(opt.Password, getenv(EnvPassword)))
	switch {
	case ok:
		return own
	case opt.Token != "":
		return httpclient.Bearer(opt.Token)
	case opt.User != "":
		return httpclient.Basic(opt.User, opt.Password)
	case getenv(EnvToken) != "":
		return httpclient.Bearer(getenv(EnvToken))
	case getenv(EnvTokenFile) != "":
		return httpclient.TokenFile(getenv(EnvTokenFile), EnvTokenFile)
	case getenv(EnvUser) != "":
		return httpclient.Basic(getenv(EnvUser), getenv(EnvPassword))
	}

	return httpclient.Credentials{}
}

// denied is the error if a server denies access: it needs other credentials, or any.
func denied(sent httpclient.Credentials, status int) error {
	ways := fmt.Sprintf("user and password in the URL, or %s and %s, or %s, or %s", EnvUser, EnvPassword,
		EnvToken, EnvTokenFile)
	switch {
	case sent.What == "":
		return fmt.Errorf("%s: no credentials were sent: set %s", statusText(status), ways)
	case status == http.StatusForbidden:
		return fmt.Errorf("%s: the %s that was sent has no permission for this: request it, or set another one (%s)",
			statusText(status), sent.What, ways)
	}
	return fmt.Errorf("%s: it does not accept the %s that was sent: set %s", statusText(status), sent.What, ways)
}

// wantsTLS reports whether a server's reply is that of one that received plain HTTP and wants TLS
// (Go's net/http, nginx).
func wantsTLS(status int, said string) bool {
	return status == http.StatusBadRequest && (strings.Contains(said, "HTTP request to an HTTPS server") ||
		strings.Contains(said, "HTTP request was sent to HTTPS port"))
}

var errWantsTLS = errors.New("it wants TLS: give https://")
