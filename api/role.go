package api

import "fmt"

// Role orders what an actor may do in a repo; each contains those before it.
type Role int

// The roles, weakest first. The zero value may do nothing.
const (
	NoRole Role = iota
	Reader
	Writer
	Maintainer
	Admin
)

var roleNames = [...]string{"none", "reader", "writer", "maintainer", "admin"}

// ParseRole reads reader, writer, maintainer or admin.
func ParseRole(s string) (Role, error) {
	for r := Reader; r <= Admin; r++ {
		if s == roleNames[r] {
			return r, nil
		}
	}
	return NoRole, fmt.Errorf("%w: a role is reader, writer, maintainer or admin", ErrUsage)
}

// String returns the role's name.
func (r Role) String() string {
	if r < NoRole || r > Admin {
		return roleNames[NoRole]
	}
	return roleNames[r]
}

// MarshalText encodes as [Role.String].
func (r Role) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText decodes with [ParseRole]; "none" is [NoRole].
func (r *Role) UnmarshalText(text []byte) error {
	if string(text) == roleNames[NoRole] {
		*r = NoRole
		return nil
	}
	role, err := ParseRole(string(text))
	if err != nil {
		return err
	}
	*r = role
	return nil
}
