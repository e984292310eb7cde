package scanner

import "github.com/teammem/teammemd/scanner/rules"

// remedy ends every reason.
const remedy = " Replace it by a reference to your vault, and rotate it if it was ever shared."

// reasonOf returns the sentences that a person sees for a rule.
func reasonOf(id string) string {
	_, reason := rules.Words(id)
	return reason + remedy
}
