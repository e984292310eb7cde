package rules

import (
	"maps"
	"slices"
)

// WordIDs returns the ids for which we have words, sorted.
func WordIDs() []string { return slices.Sorted(maps.Keys(stockWords)) }

// TierIDs returns the ids whose tier is not the strictest, sorted.
func TierIDs() []string { return slices.Sorted(maps.Keys(stockTiers)) }
