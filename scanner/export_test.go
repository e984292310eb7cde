package scanner

import "context"

// WithLook makes s call look before it searches a text; where look returns
// false, it finds nothing.
func (s *Scanner) WithLook(look func(ctx context.Context, text string) bool) *Scanner {
	s.look = look
	return s
}

// Load builds the rules anew.
func Load() error {
	_, err := load()
	return err
}

// LoadedVersion builds the rules anew and returns their version.
func LoadedVersion() (string, error) {
	e, err := load()
	if err != nil {
		return "", err
	}
	return e.set.Version, nil
}
