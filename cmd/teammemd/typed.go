package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/config"
	"github.com/teammem/teammemd/scanner"
	"github.com/teammem/teammemd/sync/remote"
)

// shortestSecret is the length in bytes below which no word that a person typed
// is taken for a secret: it saves loading the rules for most complaints.
const shortestSecret = 12

// repeatable makes a complaint fit to be shown: where it repeats what was typed,
// that may be a value, or the name of a file with one in it.
func repeatable(ctx context.Context, typed []string, message string) string {
	if !slices.ContainsFunc(typed, func(arg string) bool { return repeats(message, arg) }) {
		return message
	}
	findings, err := scanner.New(scanner.Options{}).Scan(context.WithoutCancel(ctx), message, "")
	if err != nil {
		return "something failed, and its message could not be searched for secrets"
	}
	return scanner.MaskName(message, findings)
}

// repeats reports whether message has a part of arg that could be a secret.
func repeats(message, arg string) bool {
	for part := range strings.FieldsFuncSeq(arg, func(r rune) bool { return strings.ContainsRune(`/\:@=`, r) }) {
		if len(part) >= shortestSecret && strings.Contains(message, part) {
			return true
		}
	}
	return false
}

// askable refuses a key that must not be sent, not even in a question. What the
// server has under such a name all the same is retired by 'forget'.
func askable(ctx context.Context, key api.Key) error {
	findings, err := scanner.New(scanner.Options{}).Scan(ctx, key.String(), "")
	if err != nil {
		return fmt.Errorf("looking for secrets in the name: %w", err)
	}
	if slices.ContainsFunc(findings, func(f scanner.Finding) bool { return f.Tier.Holds() }) {
		return withHint(fmt.Errorf("%w: %s is a name with a secret in it, which is not sent", api.ErrUsage, scanner.MaskName(key.String(), findings)),
			"give the file another name; if the server has the name already, 'teammemd forget' retires it")
	}
	return nil
}

// askAbout returns the root and the key of a file in a team directory, and the
// client for asking the server about it.
func (m machine) askAbout(ctx context.Context, file string) (root config.Root, key api.Key, client *remote.Client, err error) {
	if root, key, err = m.keyOf(file); err != nil {
		return root, key, nil, err
	}
	if err = askable(ctx, key); err != nil {
		return root, key, nil, err
	}
	client, err = m.dial(root)
	return root, key, client, err
}
