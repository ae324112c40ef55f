package httpclient

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
)

func clientTLS(insecure bool) *tls.Config {
	return &tls.Config{InsecureSkipVerify: insecure} //nolint:gosec // --insecure is for exactly that
}

// Untrusted says what to do about a server whose certificate is not trusted, or that does not use
// TLS. It returns nil for other errors. Retrying does not help.
func Untrusted(err error) error {
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError

	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &unknown):
		return fmt.Errorf("%w: set SSL_CERT_FILE=ca.pem to the CA's file, or accept any certificate with --insecure",
			err)
	case errors.As(err, &name):
		return fmt.Errorf("%w: use a name in the certificate, or accept any certificate with --insecure", err)
	case errors.As(err, &invalid):
		return fmt.Errorf("%w: renew the certificate, or accept any certificate with --insecure", err)
	case errors.As(err, &record), errors.Is(err, http.ErrSchemeMismatch):
		return fmt.Errorf("%w: the server does not use TLS: try http://", err)
	}

	return nil
}
