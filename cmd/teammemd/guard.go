package main

import (
	"context"
	"errors"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/scanner"
)

// guard lets the engine ask the scanner.
type guard struct{ scanner *scanner.Scanner }

// Check returns the findings that hold a text. A finding's key is fit to be
// shown: what was found in the name itself is masked.
func (g guard) Check(ctx context.Context, key api.Key, content string) ([]api.Finding, error) {
	found, err := g.scanner.Scan(ctx, key.String(), content)
	if refusal, ok := errors.AsType[*scanner.Refusal](err); ok {
		return nil, &api.HeldError{Reason: api.Reason(refusal.Reason), Detail: refusal.Detail}
	}
	if err != nil {
		return nil, err
	}
	name := scanner.MaskName(key.String(), found)
	var held []api.Finding
	for _, f := range found {
		if f.Tier.Holds() {
			held = append(held, api.Finding{Key: name, Line: f.Line, Column: f.Column, Rule: f.Rule, Tier: string(f.Tier), Reason: f.Reason})
		}
	}
	return held, nil
}
