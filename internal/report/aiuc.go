package report

// Ids and titles from the requirements' own pages, after the release of 15 April 2026.
// Requirements whose page could not be read are left out.
var aiuc1 = framework{
	name: "AIUC-1", edition: "release of 15 April 2026",
	url:  "https://www.aiuc-1.com/changelog",
	note: "Only requirements that a gateway bears on are listed; the standard has about fifty.",
	items: []item{
		{
			"A003", "Limit AI agent data collection",
			[]controlID{cPolicy, cCallers},
			"Rules say which tools, resources and prompts a caller gets.",
			"What a server returns for a call that is allowed is not narrowed.",
		},
		{
			"B006", "Prevent unauthorized AI agent actions",
			[]controlID{cPolicy, cFlow, cPins},
			"Calls outside the rules are refused, and so are changed tools and destinations from untrusted text.",
			"Actions that are no calls through the gateway.",
		},
		{
			"B007", "Enforce user access privileges to AI systems",
			[]controlID{cCallers},
			"Callers have tokens that can expire, each with one policy.",
			"Who may change the configuration is for the system that keeps it.",
		},
		{
			"C007", "Flag high risk outputs for human review",
			[]controlID{cApproval},
			"Calls that a rule, a contract or the flow check doubts wait for a person.",
			"The model's answers to the user are not reviewed.",
		},
		{
			"D003", "Restrict unsafe tool calls",
			[]controlID{cPolicy, cPaths, cLimits, cRecord},
			"Tools are allowed by name, arguments are validated, calls are bounded in rate and number, and all are recorded.",
			"Reviews at intervals are for people; this pack is made for them.",
		},
		{
			"E009", "Monitor third-party access",
			[]controlID{cPins, cRecord},
			"Calls to servers of others are recorded, and their definitions are watched.",
			"Access that others have to systems past the gateway.",
		},
		{
			"E015", "Log AI system activity",
			[]controlID{cRecord, cRedact},
			"Every verdict and outcome is recorded, redacted, with a chain that shows changes.",
			"How long logs are kept, and who reads them, is for the operator. The model's reasoning is not recorded.",
		},
	},
}
