package rules

import (
	"crypto/sha256"
	"math/big"
	"slices"
	"strings"
)

// SeedPhrase keeps twelve to twenty-four words that can be a wallet's: hardly
// any twice, and none of those that every sentence has and no list of seed
// words.
var SeedPhrase = Filter{Name: "seed-phrase-1", Keep: func(m Match) bool { return seedPhrase(m.Secret()) }}

var seedSizes = []int{12, 15, 18, 21, 24}

var sentenceWords = wordSet(`the and for are was were with from your has had its our his her not which these those would could should been
 using used uses when where what also only must each them here how why who whom but yes more most such both does into per via
 password passwords value values config example examples file files`)

func seedPhrase(phrase string) bool {
	words := strings.FieldsFunc(phrase, func(r rune) bool { return r < 'a' || r > 'z' })
	if !slices.Contains(seedSizes, len(words)) {
		return false
	}
	seen := make(map[string]bool)
	for _, word := range words {
		if sentenceWords[word] && !seedWords[word] {
			return false
		}
		seen[word] = true
	}
	return len(seen) >= len(words)-2
}

// seedWords are those of sentenceWords that a wallet's list has too.
var seedWords = wordSet(`when what only must into also such they used where example`)

// WalletKey keeps what has the check sum of a wallet's key in base 58.
var WalletKey = Filter{Name: "wallet-key-1", Keep: func(m Match) bool { return checked58(m.Secret()) }}

const base58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"

// checked58 reports whether the last four bytes of a text in base 58 are the
// check sum of those before (Base58Check).
func checked58(text string) bool {
	number := new(big.Int)
	for i := range len(text) {
		digit := strings.IndexByte(base58, text[i])
		if digit < 0 {
			return false
		}
		number.Add(number.Mul(number, big.NewInt(58)), big.NewInt(int64(digit)))
	}
	raw := number.Bytes()
	if len(raw) < 8 {
		return false
	}
	payload, sum := raw[:len(raw)-4], raw[len(raw)-4:]
	first := sha256.Sum256(payload)
	second := sha256.Sum256(first[:])
	return string(second[:4]) == string(sum)
}

// RecoveryCodes keeps a list of codes of which most have digits, and which is no
// list of dates or numbers of issues.
var RecoveryCodes = Filter{Name: "recovery-codes-2", Keep: func(m Match) bool { return recoveryCodes(m.Secret()) }}

var codeShape = expressionOf(`\d{4} \d{4}|[A-Za-z0-9][A-Za-z0-9-]{5,}`)

func recoveryCodes(list string) bool {
	codes := codeShape.FindAllString(list, -1)
	made := 0
	for _, code := range codes {
		m := makeupOf(code)
		if m.digits >= 2 && !release.MatchString(code) && !placeholder(code) && m.wordy*2 < len(code) {
			made++
		}
	}
	return made >= 3 && made*4 >= len(codes)*3
}
