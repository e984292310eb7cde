package corpus

// textContexts are what prose, logs and chats put around a value.
var textContexts = []Context{
	inline("sentence end", "The token is %."),
	inline("comma", "With %, it works."),
	inline("semicolon", "We have %; it works."),
	inline("colon", "About %: it works."),
	inline("exclamation", "Never use %!"),
	inline("question", "Is it still %?"),
	inline("end before a sentence", "It is %. Do not lose it."),
	glued(inline("end before a sentence without a space", "It is %.Do not lose it.")),
	inline("possessive", "%'s scope is read only."),
	inline("parenthesis", "Ada's token (%) is for CI."),
	inline("parenthesis and full stop", "It is for CI (%)."),
	inline("brackets", "the token [%] is for CI"),
	inline("braces", "the token {%} is for CI"),
	inline("double quotes", "It is \"%\" for now."),
	inline("single quotes", "It is '%' for now."),
	inline("curly quotes", "It is “%” for now."),
	inline("single curly quotes", "It is ‘%’ for now."),
	inline("low quotes", "Er ist „%“ bis Juni."),
	inline("guillemets", "Il est «%» pour le moment."),
	inline("spaced guillemets", "Il est « % »."),
	inline("CJK brackets", "トークンは「%」です。"),
	inline("CJK full stop", "令牌是%。"),
	inline("CJK comma", "令牌是%，不要泄露"),
	inline("CJK colon", "令牌：%（仅限测试）"),
	inline("after CJK", "我们用%来部署"),
	inline("after kana", "これは%です"),
	inline("after Cyrillic", "токен:%,не терять"),
	inline("em dash", "the token—%—is for CI"),
	inline("en dash", "token – % – for CI"),
	inline("ellipsis after", "It begins %…"),
	inline("dots after", "and then %..."),
	inline("arrow", "staging → %"),
	inline("arrow after", "% → staging"),
	inline("ASCII arrow", "staging=>%"),
	inline("slashes", "old/%/new"),
	inline("spaced slashes", "old / % / new"),
	inline("bar", "old|%|new"),
	inline("emoji beside", "🔑%🔥"),
	inline("bullet sign", "•%"),
	inline("no-break spaces", "token\u00a0%\u00a0here"),
	inline("tabs", "token\t%\tCI"),
	inline("mention", "cc @%"),
	inline("hash sign", "see #%"),
	inline("backslash before", "it is \\%"),
	inline("chat", "ada: hi\nben: which token?\nada: here it is % :)\nben: thanks"),
	inline("chat with times", "[10:42] <ada> %"),
	inline("chat of an agent", "**User:** deploy with %, please\n\n**Assistant:** Done."),
	bare("log line", "2026-03-04T10:11:12.345Z WARN  [worker-3] auth failed token=% status=401\n"),
	bare("log in JSON", "{\"level\":\"warn\",\"msg\":\"auth failed for %\",\"status\":401}\n"),
	bare("stack trace", "Error: bad credentials: %\n    at login (/srv/app/auth.js:41:13)\n"),
	bare("shell prompt", "$ deploy --login %\nok\n"),
	bare("no final newline", "token %"),
	bare("byte order mark", "\ufeff%\n"),
	block("CRLF", "first\r\n", "%\r", "last\r\n"),
	bare("old Mac line ends", "first\r%\rlast\r"),
	block("long line before", longLine+"\n", "%", longLine+"\n"),
	bare("in a long line", longLine+" % "+longLine+"\n"),
}

func glued(way Context) Context {
	way.Whole, way.Glued = false, true
	return way
}

// longLine is a line of a text without line breaks.
const longLine = "We moved the nightly job to the new cluster, since the old one was slow, and since then nobody has looked " +
	"at the dashboards; Ada wants to look at them before the next release, and Ben has promised to write down what each of " +
	"the panels shows, where the figures come from, and whom to ask when one of them is missing or looks wrong."
