package rules_test

import (
	"testing"

	"github.com/teammem/teammemd/scanner/rules"
)

func TestStrongKnowsCoinedPasswords(t *testing.T) {
	for value, want := range map[string]bool{
		"Falcon.Meadow" + "_482": true, "Copper_lantern" + "21": true, "WalnutEmber" + "318": true,
		"Config.Value_12": false, "UserName42": false, "EncodeBase64": false, "Walnut_482": false,
		"walnut-ember-482": false, "Walnut-Ember.md": false, "WalnutEmber": false, "Deploy_Token_482": false,
	} {
		if got := rules.Strong.Keep(rules.Match{Text: value, SecretEnd: len(value), End: len(value)}); got != want {
			t.Errorf("%q is strong: %t, want %t", value, got, want)
		}
	}
}

func TestComparisonIsNoPassword(t *testing.T) {
	for value, want := range map[string]bool{
		"qKTW-y8A51" + "ij==Zw": true, "user.Name==expected_Value1": false, "K7x2vQ9w" + "Lm4Tz8Rb1c==": true, "dGVzdA==": false,
		"==K7x2vQ9w" + "Lm4T!z": false, "userName==" + "K7x2vQ9wLm4T!z": false, "K7x2vQ9w" + "L!==": false,
	} {
		if got := rules.StrongWord.Keep(rules.Match{Text: value, SecretEnd: len(value), End: len(value)}); got != want {
			t.Errorf("%q is a strong word: %t, want %t", value, got, want)
		}
	}
}
