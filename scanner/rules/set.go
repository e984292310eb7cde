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
		urlStructures,
		connectionStructures,
		fileStructures,
		keyStructures,
		factorStructures,
		headerStructures,
		commandStructures,
		databaseStructures,
		toolStructures,
		webStructures,
		vague(tokenGuesses),
		vague(passwordGuesses),
		vague(flagGuesses),
		vague(placeGuesses),
		vague(tokenPlaces),
		vague(describedGuesses),
		vague(nestedGuesses),
		vague(aroundGuesses),
		warnings,
	)
}

// vague marks rules that know no kind of secret.
func vague(list []Rule) []Rule {
	list = slices.Clone(list)
	for i := range list {
		list[i].Vague = true
	}
	return list
}
