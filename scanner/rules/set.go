package rules

import "slices"

// Ours returns the rules of our own, list by list. A caller must not change
// them.
func Ours() []Rule {
	return slices.Concat(
		vendorsAI,
		vendorsCloud,
		vendorsCode,
		vendorsData,
		vendorsIdentity,
		vendorsMessaging,
		vendorsObserve,
		vendorsPayments,
		vendorsWork,
	)
}
