package muniment

import (
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
)

// DefaultTarget is where a client connects when neither Connect nor the environment says anything else.
const DefaultTarget = "127.0.0.1:" + defaultPort

const defaultPort = "7443"

// endpoint is a target taken apart.
type endpoint struct {
	target string
	host   string
	// 0 for a Unix socket.
	port int
}

var addressForm = regexp.MustCompile(`^(?:\[([^\[\]]+)\]|([^:\[\]/]+))(?::(\d{1,5}))?$`)

// parseTarget completes a gRPC target with a port.
func parseTarget(target string) (endpoint, error) {
	scheme, rest, _ := strings.Cut(target, ":")
	if scheme == "unix" || scheme == "unix-abstract" {
		return endpoint{target: target, host: target}, nil
	}
	prefix, address := "", target
	switch {
	case scheme == "dns" || scheme == "passthrough":
		cut := strings.LastIndex(rest, "/") + 1
		prefix, address = scheme+":"+rest[:cut], rest[cut:]
	case strings.Contains(target, "//"):
		return endpoint{}, fmt.Errorf(
			"muniment: target %q must be host:port, without a scheme such as https://", target)
	}
	found := addressForm.FindStringSubmatch(address)
	if found == nil {
		return endpoint{}, badAddress(address)
	}
	host, port := found[1]+found[2], found[3]
	if port == "" {
		port = defaultPort
	}
	number, err := strconv.Atoi(port)
	if err != nil || number > 65535 {
		return endpoint{}, badAddress(address)
	}
	return endpoint{target: prefix + net.JoinHostPort(host, port), host: host, port: number}, nil
}

func badAddress(address string) error {
	return fmt.Errorf("muniment: target %q must be host:port, for example %s or [::1]:7443", address, DefaultTarget)
}

// isLoopback says whether the host is this machine for certain.
func (e endpoint) isLoopback() bool {
	if e.port == 0 || e.host == "localhost" {
		return true
	}
	address, err := netip.ParseAddr(e.host)
	return err == nil && address.IsLoopback()
}
