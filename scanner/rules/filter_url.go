package rules

import (
	"net/netip"
	"strings"
)

// OpensHost keeps the credentials of a URL that open something: the scheme is
// one, the host is neither this machine nor an example, and what stands before
// the @ is no port and no path.
var OpensHost = Filter{Name: "opens-host-1", Keep: opensHost}

var hostShape = expressionOf(`^(?:\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9_.-]{1,253})`)

func opensHost(m Match) bool {
	whole := m.Whole()
	at := m.SecretEnd - m.Start
	if at+1 >= len(whole) || strings.Contains(whole[:m.SecretStart-m.Start], "[") {
		return false
	}
	host := hostShape.FindString(whole[at+1:])
	if host == "" || !schemeBefore(m.Text, m.Start) || exampleHost(host, m.Secret()) {
		return false
	}
	port, path, cut := strings.Cut(m.Secret(), "/")
	if !cut {
		return true
	}
	// host:8080/@scope and host:org/repository@version are no credentials.
	user := strings.TrimSuffix(strings.TrimPrefix(whole[:m.SecretStart-m.Start], "://"), ":")
	return !numeral(port) && !strings.Contains(user, ".") && !strings.Contains(path, "/")
}

// schemeBefore reports whether a scheme that has credentials ends at at.
func schemeBefore(text string, at int) bool {
	from := at
	for from > 0 && at-from < 40 && (kindOf(text[from-1]) == 'a' || kindOf(text[from-1]) == 'A' || kindOf(text[from-1]) == '0' || text[from-1] == '+' || text[from-1] == '.' || text[from-1] == '-') {
		from--
	}
	scheme := strings.ToLower(text[from:at])
	return len(scheme) >= 2 && scheme != "docker" && scheme != "oci" && scheme != "image" && scheme != "otpauth"
}

// exampleHost reports whether credentials for host open nothing that others
// could reach, or nothing at all. The host of a compose file, such as "db", and
// the word "host" itself excuse a weak password alone.
func exampleHost(host, secret string) bool {
	host = strings.ToLower(strings.Trim(host, ".[]"))
	if address, err := netip.ParseAddr(host); err == nil {
		return address.IsLoopback() || address.IsUnspecified()
	}
	labels := strings.Split(host, ".")
	last := labels[len(labels)-1]
	switch last {
	case "localhost", "example", "test", "invalid", "localdomain":
		return true
	}
	if strings.HasPrefix(last, "sha256") || strings.Contains(host, "example") {
		return true
	}
	if host == "host.docker.internal" || len(labels) == 1 && !strong(secret) {
		return true
	}
	if last == "local" || strings.HasPrefix(last, "xx") || strings.Contains(host, "your") || standsIn(labels[0]) && standsIn(strings.Join(labels[:len(labels)-1], "")) {
		return !strong(secret)
	}
	return false
}

// OpensScheme keeps a URL whose scheme can have credentials, but for the address
// to which an application reports its errors, which is public.
var OpensScheme = Filter{Name: "opens-scheme-2", Keep: func(m Match) bool {
	_, host, _ := strings.Cut(m.Text[m.SecretEnd:m.End], "@")
	return schemeBefore(m.Text, m.Start) && !strings.Contains(host, "sentry") && !exampleHost(hostShape.FindString(host), m.Secret())
}}

// Remote keeps a match whose line does not say that it is about this machine or
// an example host.
var Remote = Filter{Name: "remote-1", Keep: func(m Match) bool { return !nearby.MatchString(m.Line()) }}

var nearby = expressionOf(`(?i)(?:=|@|//|:|^|\s|\()(?:localhost|127\.0\.0\.1|\(local(?:db)?\)|\[::1\]|host\.docker\.internal|(?:[a-z0-9-]+\.)*example\.(?:com|org|net)|[a-z0-9.-]+\.(?:example|test|invalid))\b`)

// NotEmulator keeps a key of Azure other than that of the storage and database
// emulators, which is the same everywhere.
var NotEmulator = Filter{Name: "not-emulator-1", Keep: func(m Match) bool {
	return !strings.HasPrefix(m.Secret(), "Eby8vdM02xNOcq"+"FlqUwJPLlmEtlCDXJ1") && !strings.HasPrefix(m.Secret(), "C2y6yDjf5/R+ob"+"0N8A7Cgv30VRDJIWEHLM")
}}

// NotBadge keeps a parameter of anything but an image, an embedded page or an
// invitation to a meeting, whose addresses are made to be shown.
var NotBadge = Filter{Name: "not-badge-3", Keep: func(m Match) bool {
	before := m.Text[max(0, m.Start-200):m.Start]
	address, _, _ := strings.Cut(before[strings.LastIndexAny(before, " \t\n\"'`(<>")+1:], "?")
	return !strings.HasSuffix(address, ".svg") && !strings.Contains(address, "/embed/") && !strings.Contains(address, "zoom.us/j/")
}}

// NotOwnHost keeps a match that does not name this machine.
var NotOwnHost = Filter{Name: "not-own-host-1", Keep: func(m Match) bool {
	return !strings.Contains(m.Whole(), "localhost") && !strings.Contains(m.Whole(), "(127.") && !strings.Contains(m.Whole(), "example.")
}}
