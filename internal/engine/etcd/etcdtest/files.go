package etcdtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// Files names certificates and their keys, in PEM.
type Files struct {
	CA                    string // signs the others
	ServerCert, ServerKey string // for 127.0.0.1
	ClientCert, ClientKey string
}

// newFiles creates an authority and the certificates it signs in a folder.
func newFiles(dir string) (*Files, error) {
	f := &Files{CA: filepath.Join(dir, "ca.pem"),
		ServerCert: filepath.Join(dir, "server.pem"), ServerKey: filepath.Join(dir, "server-key.pem"),
		ClientCert: filepath.Join(dir, "client.pem"), ClientKey: filepath.Join(dir, "client-key.pem")}
	ca := template(1, "authority")
	ca.IsCA, ca.KeyUsage = true, x509.KeyUsageCertSign

	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}

	if err := sign(ca, ca, caKey, caKey, f.CA, ""); err != nil {
		return nil, err
	}

	for i, cert := range []string{f.ServerCert, f.ClientCert} {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return nil, err
		}
		t := template(int64(i)+2, "member")
		t.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
		t.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
		if err := sign(t, ca, key, caKey, cert, []string{f.ServerKey, f.ClientKey}[i]); err != nil {
			return nil, err
		}
	}

	return f, nil
}

func template(serial int64, name string) *x509.Certificate {
	return &x509.Certificate{SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: name},
		BasicConstraintsValid: true,
		NotBefore:             time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature}
}

// sign writes a certificate and, if it has a path, its key.
func sign(t, by *x509.Certificate, key, byKey *ecdsa.PrivateKey, certAt, keyAt string) error {
	der, err := x509.CreateCertificate(rand.Reader, t, by, &key.PublicKey, byKey)
	if err != nil {
		return err
	}
	if err := os.WriteFile(certAt, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		0o600); err != nil || keyAt == "" {
		return err
	}
	pkcs, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	return os.WriteFile(keyAt, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs}), 0o600)
}
