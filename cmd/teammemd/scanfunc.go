package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/planted"
	"github.com/teammem/teammemd/scanner"
	"github.com/teammem/teammemd/server/core"
)

// scanText asks the scanner. A refusal of this one text is a *[api.HeldError].
func scanText(ctx context.Context, sc *scanner.Scanner, key, text string) ([]scanner.Finding, error) {
	found, err := sc.Scan(ctx, key, text)
	if refusal, ok := errors.AsType[*scanner.Refusal](err); ok {
		return nil, &api.HeldError{Reason: api.Reason(refusal.Reason), Detail: refusal.Detail}
	}
	return found, err
}

// findings is scanText in the words of the protocol.
func findings(ctx context.Context, sc *scanner.Scanner, key, text string) ([]api.Finding, error) {
	found, err := scanText(ctx, sc, key, text)
	if err != nil {
		return nil, err
	}
	return translate(key, text, found), nil
}

// translate puts findings into the words of the protocol, by their order. The key
// of a finding is fit to be shown: what was found in the name itself is masked.
func translate(key, text string, found []scanner.Finding) []api.Finding {
	name := scanner.MaskName(key, found)
	var out []api.Finding
	for _, f := range found {
		if planted.In(planted.LeakyError) && !f.InName {
			start, end := f.Span()
			f.Reason += " It is " + text[start:end] + "."
		}
		out = append(out, api.Finding{
			Key: name, Line: f.Line, Column: f.Column,
			Rule: f.Rule, Tier: string(f.Tier), Reason: f.Reason,
		})
	}
	return out
}

// scanFunc lets the server judge with sc. Findings of all tiers are passed on:
// what they mean is the server's to decide, and what was clean is the server's
// to remember. A scanner that cannot judge anything makes the server unavailable.
func scanFunc(sc *scanner.Scanner) core.ScanFunc {
	return func(ctx context.Context, key, text string) ([]api.Finding, error) {
		found, err := findings(ctx, sc, key, text)
		if _, held := errors.AsType[*api.HeldError](err); err != nil && !held {
			return nil, fmt.Errorf("%w: %w", api.ErrUnavailable, err)
		}
		return found, err
	}
}
