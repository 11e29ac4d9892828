package webhook

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"code.dny.dev/ssrf"
)

// MaxURL is the longest webhook URL, in bytes.
const MaxURL = 2048

// publicOnly decides which addresses are public. It denies the special-purpose
// registries of IANA, and of IPv6 all but global unicast: so IPv4-mapped and
// NAT64 forms are refused whatever they stand for. Ports are free: receivers
// listen where they like.
var publicOnly = ssrf.New(ssrf.WithAnyPort(), ssrf.WithDeniedV4Prefixes(
	// Azure's host agent, which hands out credentials, has a public number.
	netip.MustParsePrefix("168.63.129.16/32"),
))

// CheckURL returns nil for a URL that webhooks may be sent to: http or https, a
// host, no credentials, no fragment, at most [MaxURL] bytes. Unless
// allowPrivate is set, localhost and literal addresses that are not public are
// refused; a name that resolves to one is refused when it is connected to. The
// error's text says what is wrong, of the URL: "must name a host".
func CheckURL(raw string, allowPrivate bool) error {
	if len(raw) > MaxURL {
		return fmt.Errorf("must not be longer than %d bytes", MaxURL)
	}
	u, err := parseURL(raw)
	if err != nil {
		return err
	}
	if u.Fragment != "" || strings.HasSuffix(raw, "#") {
		return errors.New("must not have a fragment: it would not be sent")
	}
	return checkHost(u.Hostname(), allowPrivate)
}

// parseURL parses a URL as far as sending needs it.
func parseURL(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return nil, errors.New("must be well-formed")
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("must begin with http:// or https://")
	}
	if u.Hostname() == "" {
		return nil, errors.New("must name a host")
	}
	if u.User != nil {
		return nil, errors.New("must not hold credentials: use a header for them")
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return nil, errors.New("must have a port between 1 and 65535")
		}
	}
	return u, nil
}

func checkHost(host string, allowPrivate bool) error {
	if addr, err := netip.ParseAddr(host); err == nil {
		return checkAddr(addr, allowPrivate)
	}
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	if err := checkName(name); err != nil {
		return err
	}
	last := name[strings.LastIndexByte(name, '.')+1:]
	if isNumber(last) {
		// No top-level domain is a number, so this is an IPv4 address in a
		// spelling (2130706433, 0x7f.1, 127.1, 010.0.0.1, a final dot) that
		// resolvers read each in their own way.
		return errors.New("must have a name as its host, or an IP address in its usual form")
	}
	if allowPrivate {
		return nil
	}
	if last == "localhost" || name == "localhost.localdomain" || name == "metadata.google.internal" {
		return errNotPublic
	}
	return nil
}

var errNotPublic = errors.New("must have a public address as its host")

func checkAddr(addr netip.Addr, allowPrivate bool) error {
	if addr.Zone() != "" {
		return errors.New("must not have a zone in its host")
	}
	if !allowPrivate && publicOnly.SafeAddr(addr) != nil {
		return errNotPublic
	}
	return nil
}

// checkName accepts what can be looked up in the DNS, in ASCII.
func checkName(name string) error {
	if len(name) > 253 {
		return errors.New("must not have a host name longer than 253 bytes")
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 {
			return errors.New("must have a valid name as its host")
		}
		for i := range len(label) {
			switch c := label[i]; {
			case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '-', c == '_':
			case c >= 0x80:
				// Mapping to ASCII can turn look-alikes into localhost or digits.
				return errors.New("must have a host name in ASCII (xn--… for other scripts)")
			default:
				return errors.New("must have a valid name as its host")
			}
		}
	}
	return nil
}

// isNumber says whether the last label of a host makes it an IPv4 address, by
// the rule of the URL standard: all digits, or 0x and hex digits.
func isNumber(label string) bool {
	digits := "0123456789"
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		label, digits = hex, "0123456789abcdef"
	}
	return strings.Trim(label, digits) == ""
}
