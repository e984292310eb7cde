package main

import (
	"context"
	"slices"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/scanner"
)

// guard lets the engine ask the scanner.
type guard struct{ scanner *scanner.Scanner }

// Check returns the findings that hold a text.
func (g guard) Check(ctx context.Context, key api.Key, content string, _ api.Vouched) ([]api.Finding, error) {
	found, err := findings(ctx, g.scanner, key.String(), content)
	return slices.DeleteFunc(found, func(f api.Finding) bool { return !scanner.Tier(f.Tier).Holds() }), err
}

// Rules names the rules.
func (guard) Rules() string { return "" }
