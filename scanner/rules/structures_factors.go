package rules

import (
	"crypto/sha256"
	"math/big"
	"strings"

	"github.com/teammem/teammemd/scanner/samples"
)

const base32 = samples.Upper + "234567"

// phrase returns n words as a wallet's, none of them of a sentence.
func phrase(n int) func(*samples.Source) string {
	return func(s *samples.Source) string {
		words := make([]string, n)
		for i := range words {
			words[i] = s.Text("bdfgklmnprst", 1) + s.Text("aeou", 1) + s.Text("bdfgklmnprst", 2) + s.Text("aeou", 1)
		}
		return strings.Join(words, " ")
	}
}

// walletKey returns a key in the form for import into a wallet.
func walletKey(s *samples.Source) string {
	raw := append([]byte{0x80}, s.Text(samples.Alnum, 32)...)
	raw = append(raw, 1)
	first := sha256.Sum256(raw)
	second := sha256.Sum256(first[:])
	number := new(big.Int).SetBytes(append(raw, second[:4]...))
	var made []byte
	for digit := new(big.Int); number.Sign() > 0; {
		number.DivMod(number, big.NewInt(58), digit)
		made = append([]byte{base58[digit.Int64()]}, made...)
	}
	return string(made)
}

var factorStructures = []Rule{
	{
		ID: "tm-otpauth", Tier: Block2, Title: "Second factor as a URI",
		Reason:   "Its secret makes the one-time codes of an account.",
		Keywords: []string{"otpauth://", "otpauth-migration://"},
		Pattern:  `otpauth(?:://(?:totp|hotp|steam)/[^\s"'\x60<>]{0,200}?[?&]secret=([A-Za-z2-7]{16,128})|-migration://offline\?data=([\w%+/=-]{30,1000}))`,
		Filters:  []Filter{NotPlaceholder},
		Hits: each(func(s *samples.Source) string {
			return "otpauth://totp/Acme:bill@acme.io?secret=" + s.Text(base32, 32) + "&issuer=Acme"
		}),
		Misses: each(plain("otpauth://totp/Acme?secret=JBSWY3DP"+"EHPK3PXP"), plain("otpauth://totp/{label}?secret={secret}")),
	},
	{
		ID: "tm-totp-secret", Tier: Block2, Title: "Second factor's secret",
		Reason:   "The secret of a second factor makes the one-time codes of an account.",
		Keywords: []string{"totp", "2fa", "mfa", "otp", "authenticator"},
		Pattern: `(?i:\b(?:totp|2fa|mfa|otp|authenticator)[ _-]?(?:app )?(?:shared )?(?:secret|seed|key|code|setup key)?(?:[ _-]key)?(?: (?:of|for|on)(?: [\w-]{1,20}){1,5})?)["'\x60*_]{0,3}\s{0,2}(?:is|[:=| ])\s{0,2}["'\x60*|]{0,3}\s{0,2}` +
			`([A-Z2-7]{16,64}|[a-z2-7]{32}|(?:[A-Za-z2-7]{4}[ -]){3,15}[A-Za-z2-7]{4})\b`,
		Filters: []Filter{NotPlaceholder, Base32},
		Hits: each(func(s *samples.Source) string { return "TOTP secret: " + s.Text(base32, 31) + "7" }, func(s *samples.Source) string {
			return "2FA key is `" + s.Text(samples.Upper+"23", 4) + " " + s.Text("ABCD2345", 4) + " " + s.Text("EFG67", 4) + " 7" + s.Text("XYZWQ", 3) + "`"
		}),
		Misses: each(plain("TOTP secret: JBSWY3DP"+"EHPK3PXP"), plain("OTP: CONFIGURATIONVARIABLES"), plain("MFA: this will make that work")),
	},
	{
		ID: "tm-recovery-codes", Tier: Block2, Title: "Recovery codes",
		Reason:   "A recovery code takes the place of the second factor.",
		Keywords: []string{"recovery code", "backup code", "scratch code", "recovery_code", "backup_code", "scratch_code", "recovery-code", "backup-code", "scratch-code"},
		Pattern:  `(?i)(?:recovery|backup|scratch)[ _-]codes?[^\n]{0,80}?[:=\n]((?:(?:[\s>*•"',\x60|\[\]-]|\d{1,2}[.)]\s){1,12}(?:[a-z0-9]{4,6}-[a-z0-9]{4,6}(?:-[a-z0-9]{4,6}){0,4}|\d{4} \d{4}|[a-z0-9]{8,16})\b){3,16})`,
		Filters:  []Filter{RecoveryCodes},
		Hits: each(func(s *samples.Source) string {
			code := func() string {
				return s.Text("bcdfghjk", 2) + s.Text(samples.Digits, 3) + "-" + s.Text("bcdfghjk", 3) + s.Text(samples.Digits, 2)
			}
			return "Recovery codes:\n- " + code() + "\n- " + code() + "\n- " + code() + "\n- " + code() + "\n"
		}),
		Misses: each(plain("Recovery codes: store them in a place where nobody finds them"), plain("Backup codes\n\n- 2024-01-02\n- 2024-01-03\n- 2024-01-04\n")),
	},
	{
		ID: "tm-seed-phrase", Tier: Block2, Title: "Seed phrase of a wallet",
		Reason:   "A seed phrase opens all accounts of a wallet.",
		Keywords: []string{"seed", "mnemonic", "recovery phrase", "recovery words", "secret phrase", "secret words", "backup phrase", "backup words", "wallet"},
		Pattern:  `(?i:seed|mnemonic|(?:recovery|secret|backup|wallet) (?:phrase|words)|wallet[^\n:.]{0,40}:)(?i:[ _-]?(?:phrase|words|seed|code))?["'\x60*_]{0,3}(?i: \([^)\n]{0,40}\)| (?:of|for)(?: [\w'-]{1,16}){1,5}?)?\s{0,2}(?:is|are|[:=|])?:?[\s"'\x60*|>]{1,8}((?:(?:\d{1,2}[.)] )?[a-z]{3,8}[ ,\n]{1,2}){11,23}[a-z]{3,8})\b`,
		Filters:  []Filter{SeedPhrase},
		Hits:     each(between("Seed phrase: ", phrase(12), "\n"), between("mnemonic=\"", phrase(24), "\""), between("The wallet for tests: ", phrase(12), "")),
		Misses:   each(plain("seed: this is the text that tells people how a seed works inside"), plain("mnemonic: "+strings.Repeat("test ", 11)+"junk")),
	},
	{
		ID: "tm-wallet-key", Tier: Block2, Title: "Private key of a wallet",
		Reason:   "The private key of a wallet can spend what it holds.",
		Keywords: []string{"wif", "wallet", "bitcoin", "btc", "privkey", "private key", "private_key"},
		Pattern:  `(?i:\b(?:wif|wallet|bitcoin|btc|privkey|private[ _]key))[^\n]{0,60}?\b([5KLc9][1-9A-HJ-NP-Za-km-z]{50,51})\b`,
		Filters:  []Filter{WalletKey},
		Hits:     each(between("WIF: ", walletKey, "")),
		Misses:   each(func(s *samples.Source) string { return "wallet L" + s.Text("ABCDEFGHJK123456789mnpqr", 51) }),
	},
	{
		ID: "tm-extended-private-key", Tier: Block2, Title: "Extended private key of a wallet",
		Reason:   "An extended private key opens all accounts that are derived from it.",
		Keywords: []string{"xprv", "yprv", "zprv", "tprv"},
		Pattern:  `[xyzt]prv[1-9A-HJ-NP-Za-km-z]{107,108}`, Alphabet: `1-9A-HJ-NP-Za-km-z`,
		Hits:   each(func(s *samples.Source) string { return "xp" + "rv" + s.Text(base58, 107) }),
		Misses: each(plain("xprv of the wallet")),
	},
	{
		ID: "tm-chain-private-key", Tier: Block2, Title: "Private key of an account on a chain",
		Reason:   "The private key of an account on a chain can spend what it holds.",
		Keywords: []string{"priv"},
		Pattern:  `(?i)\bpriv(?:ate)?[ _-]?key["'\x60*_)]{0,4}\s{0,3}(?:is|[:=|,])\s{0,3}["'\x60*|]{0,3}\s{0,2}(?:0x)?([0-9a-f]{64})\b`,
		Filters:  []Filter{NotPlaceholder},
		Hits:     each(func(s *samples.Source) string { return "PRIVATE_KEY=0x" + s.Text(samples.Hex, 64) }),
		Misses:   each(plain("private key: 0x"+strings.Repeat("0", 63)+"1"), plain("private key: <hex>")),
	},
}
