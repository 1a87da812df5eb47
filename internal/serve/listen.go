package serve

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync/atomic"
)

// Address is where to listen.
type Address struct {
	Host     string // a name or an address; "" is every address
	Port     int    // 0: one that is free
	TLS      bool
	Insecure bool // other machines may be served without TLS
}

// ErrInsecure is why an address is not listened on.
var ErrInsecure = errors.New("other machines reach it, and without TLS everybody on the way reads the tokens: give --tls-cert and --tls-key, or listen on 127.0.0.1, or say --insecure-bind if something in front encrypts")

// Listen opens the socket. exposed says that other machines reach it, in the clear.
func Listen(a Address) (l net.Listener, exposed bool, err error) {
	addr, err := net.ResolveTCPAddr("tcp", net.JoinHostPort(a.Host, strconv.Itoa(a.Port)))
	if err != nil {
		return nil, false, fmt.Errorf("listen: %w", err)
	}
	if exposed = !a.TLS && !addr.IP.IsLoopback(); exposed && !a.Insecure {
		return nil, true, fmt.Errorf("listen on %s: %w", addr, ErrInsecure)
	}
	l, err = net.ListenTCP("tcp", addr)
	return l, exposed, err
}

// Certificate is a certificate that can be read anew while connections are served. Safe
// for concurrent use.
type Certificate struct {
	certFile, keyFile string
	now               atomic.Pointer[tls.Certificate]
}

// LoadCertificate reads a certificate and its key, in PEM form.
func LoadCertificate(certFile, keyFile string) (*Certificate, error) {
	c := &Certificate{certFile: certFile, keyFile: keyFile}
	return c, c.Reload()
}

// Reload reads the files again. After an error the certificate before goes on being used.
func (c *Certificate) Reload() error {
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		return fmt.Errorf("the certificate %s with the key %s: %w", c.certFile, c.keyFile, err)
	}
	c.now.Store(&pair)
	return nil
}

func (c *Certificate) config() *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.now.Load(), nil },
	}
}
