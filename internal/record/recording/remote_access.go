package recording

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
)

// EnvTokenFile names a file with the bearer token. It is read for each request, because Kubernetes
// replaces tokens while they are in use.
const EnvTokenFile = "PLIMSOLL_PROMETHEUS_TOKEN_FILE"

// tokenBytesMax bounds a token file: Kubernetes' tokens have a kilobyte or two.
const tokenBytesMax = 64 << 10

// An identity is the Authorization header of requests to a server.
type identity struct {
	header string // "" if there is none, or it is in a file
	file   string // with a bearer token
	what   string // what a server may reject, for an error: "user and password"
}

// authorization returns the header, "" if there is none.
func (i identity) authorization() (string, error) {
	if i.file == "" {
		return i.header, nil
	}
	f, err := os.Open(i.file)
	if err != nil {
		return "", fmt.Errorf("the bearer token of %s: %w", EnvTokenFile, err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, tokenBytesMax+1))
	if err != nil {
		return "", fmt.Errorf("the bearer token of %s: %w", EnvTokenFile, err)
	}
	token := strings.TrimSpace(string(text))
	if token == "" || len(text) > tokenBytesMax || strings.ContainsAny(token, " \r\n\t") {
		return "", fmt.Errorf("the bearer token of %s: %s is empty: want one line with the token", EnvTokenFile, i.file)
	}
	return "Bearer " + token, nil
}

// credentials takes them from the URL, the options or the environment.
func credentials(u *url.URL, opt RemoteOptions) identity {
	basic := func(user, password string) identity {
		req := http.Request{Header: http.Header{}}
		req.SetBasicAuth(user, password)
		return identity{header: req.Header.Get("Authorization"), what: "user and password"}
	}
	bearer := func(token string) identity { return identity{header: "Bearer " + token, what: "bearer token"} }
	switch {
	case u.User != nil:
		password, _ := u.User.Password()
		return basic(u.User.Username(), password)
	case opt.Token != "":
		return bearer(opt.Token)
	case opt.User != "":
		return basic(opt.User, opt.Password)
	case os.Getenv(EnvToken) != "":
		return bearer(os.Getenv(EnvToken))
	case os.Getenv(EnvTokenFile) != "":
		return identity{file: os.Getenv(EnvTokenFile), what: "bearer token in " + os.Getenv(EnvTokenFile)}
	case os.Getenv(EnvUser) != "":
		return basic(os.Getenv(EnvUser), os.Getenv(EnvPassword))
	}
	return identity{}
}

// denied is the error if a server denies access: it needs other credentials, or any.
func (i identity) denied(status int) error {
	ways := fmt.Sprintf("user and password in the URL, or %s and %s, or %s, or %s", EnvUser, EnvPassword, EnvToken, EnvTokenFile)
	switch {
	case i.what == "":
		return fmt.Errorf("%s: no credentials were sent: set %s", statusText(status), ways)
	case status == http.StatusForbidden:
		return fmt.Errorf("%s: the %s that was sent has no permission for this: request it, or set another one (%s)", statusText(status), i.what, ways)
	}
	return fmt.Errorf("%s: it does not accept the %s that was sent: set %s", statusText(status), i.what, ways)
}

// untrusted says what to do about a server whose certificate is not accepted; nil if the error is
// about something else. Retrying does not help.
func untrusted(err error) error {
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &unknown):
		return fmt.Errorf("%w: give the CA's file in SSL_CERT_FILE=ca.pem, or accept any certificate with --insecure", err)
	case errors.As(err, &name):
		return fmt.Errorf("%w: use a name that is in it, or accept any certificate with --insecure", err)
	case errors.As(err, &invalid):
		return fmt.Errorf("%w: have it renewed, or accept any certificate with --insecure", err)
	case errors.As(err, &record), errors.Is(err, http.ErrSchemeMismatch):
		return fmt.Errorf("%w: it does not speak TLS: try http://", err)
	}
	return nil
}

// wantsTLS reports whether a server's reply is that of one that received plain HTTP and wants TLS
// (Go's net/http, nginx).
func wantsTLS(status int, said string) bool {
	return status == http.StatusBadRequest && (strings.Contains(said, "HTTP request to an HTTPS server") || strings.Contains(said, "HTTP request was sent to HTTPS port"))
}

var errWantsTLS = errors.New("it wants TLS: give https://")
