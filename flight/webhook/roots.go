package webhook

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"os"
)

// maxRoots bounds the file of roots: the system's own has a quarter of it.
const maxRoots = 1 << 20

// LoadRoots returns the system's root certificates and those of a PEM file, for
// receivers inside a company that has an authority of its own. The error says
// what is wrong with the file.
func LoadRoots(path string) (*x509.CertPool, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("cannot be read: %w", err)
	}
	defer func() { _ = f.Close() }()
	pem, err := io.ReadAll(io.LimitReader(f, maxRoots+1))
	if err != nil {
		return nil, fmt.Errorf("cannot be read: %w", err)
	}
	if len(pem) > maxRoots {
		return nil, fmt.Errorf("%s is larger than %d bytes", path, maxRoots)
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		return nil, errors.Join(errors.New("the system's root certificates cannot be read"), err)
	}
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s holds no certificate in PEM form (-----BEGIN CERTIFICATE-----)", path)
	}
	return roots, nil
}
