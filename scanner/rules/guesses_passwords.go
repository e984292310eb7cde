package rules

var passwordGuesses = []Rule{}
var warnings = []Rule{}
