package rules

var tokenGuesses = []Rule{}
