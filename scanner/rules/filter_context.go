package rules

import (
	"strings"
)

// NotOption keeps what is no option of a command: "-p --verbose" has no value.
var NotOption = Filter{Name: "not-option-2", Keep: func(m Match) bool {
	return !strings.HasPrefix(m.Secret(), "-") && (!named(m.Secret()) || generated(m.Secret()))
}}

// AfterSetting keeps a password that follows another setting of its line, as in
// "user=app password=".
var AfterSetting = Filter{Name: "after-setting-1", Keep: func(m Match) bool {
	before := m.Text[max(0, m.Start-120):m.Start]
	before = before[strings.LastIndexByte(before, '\n')+1:]
	return strings.Contains(before[strings.LastIndexByte(strings.TrimRight(before, " "), ' ')+1:], "=")
}}

// Statement keeps a password of a statement about a user.
var Statement = Filter{Name: "statement-1", Keep: func(m Match) bool { return statement.MatchString(m.Line()) }}

var statement = expressionOf(`(?i)\b(?:user|role|login|identified|grant|credential)\b`)

// NotCSRF keeps a cookie that is more than a guard against forged requests: such
// a token is in every page, and worth nothing without the session.
var NotCSRF = Filter{Name: "not-csrf-1", Keep: func(m Match) bool {
	return !csrfName.MatchString(m.Text[m.Start:m.SecretStart])
}}

var csrfName = expressionOf(`(?i)[cx]srf[\w.-]{0,24}=$`)
