package rules

import (
	stdbase64 "encoding/base64"
	"strings"
)

// MachineDrawn keeps a value that a machine drew, in any form, hex as well.
var MachineDrawn = Filter{Name: "machine-drawn-2", Keep: func(m Match) bool {
	value := m.Secret()
	if isRandom(value) || drawnUUID(value) {
		return true
	}
	kinds := makeupOf(value)
	return !placeholder(value) && kinds.digits > 1 && kinds.wordy*3 < len(value) && !named(value)
}}

// Random12 is Random for a value of twelve characters or more.
var Random12 = Filter{Name: "random-12-2", Keep: func(m Match) bool {
	value := m.Secret()
	if len(value) >= shortest {
		return isRandom(value)
	}
	kinds := makeupOf(value)
	return len(value) >= 12 && kinds.digits > 0 && kinds.lower > 0 && kinds.upper > 0 && kinds.signs == 0 && kinds.wordy*3 < len(value) && !placeholder(value)
}}

// NotAssigned keeps what is no assignment to another name.
var NotAssigned = Filter{Name: "not-assigned-1", Keep: func(m Match) bool { return !settingShape.MatchString(m.Secret()) }}

var settingShape = expressionOf(`^[A-Za-z_]{3,40}=`)

// NotForgery keeps a cookie that is none against forged requests.
var NotForgery = Filter{Name: "not-forgery-1", Keep: func(m Match) bool {
	return !strings.Contains(strings.ToLower(m.Text[m.Start:m.SecretStart]), "srf")
}}

// NotSetting keeps a value that no setting assigns: other rules judge those.
var NotSetting = Filter{Name: "not-setting-1", Keep: func(m Match) bool {
	return !assignment.MatchString(m.Text[max(m.Start, m.SecretStart-40):m.SecretStart])
}}

var assignment = expressionOf(`(?:=|["']\s{0,2}:)\s{0,40}["'\x60]?$`)

// NotKeychain keeps what names no entry of a key store.
var NotKeychain = Filter{Name: "not-keychain-1", Keep: func(m Match) bool {
	return !strings.HasPrefix(m.Secret(), "@keychain:") && !strings.HasPrefix(m.Secret(), "@env:")
}}

// EncodedPassword keeps base64 of a strong password.
var EncodedPassword = Filter{Name: "encoded-password-1", Keep: func(m Match) bool {
	raw, err := stdbase64.StdEncoding.DecodeString(m.Secret())
	return err == nil && printable(string(raw)) && strong(string(raw))
}}

// encoded returns text in base64.
func encoded(text string) string { return stdbase64.StdEncoding.EncodeToString([]byte(text)) }

// TokenColumn keeps a column of secrets: one of keys alone names what the rows
// are called by.
var TokenColumn = Filter{Name: "token-column-1", Keep: func(m Match) bool {
	before := m.Text[max(0, m.Start-16):m.Start]
	return !bareKey.MatchString(m.Text[m.Start:m.SecretStart]) || columnLabel.MatchString(before)
}}

var columnLabel = expressionOf(`(?i)(?:api|access|secret|auth|wpa\d?|wi-?fi|private|licen[sc]e)[ _-]?$`)
