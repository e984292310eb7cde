package rules

import "strings"

// NotOption keeps what is no option of a command: "-p --verbose" has no value.
var NotOption = Filter{Name: "not-option-1", Keep: func(m Match) bool {
	return !strings.HasPrefix(m.Secret(), "-") && !named(m.Secret())
}}
