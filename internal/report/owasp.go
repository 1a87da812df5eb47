package report

// Titles from the project's own repository, as of its commit 0205957 of December 2025.
var owaspLLM = framework{
	name: "OWASP Top 10 for LLM Applications", edition: "2025",
	url:  "https://github.com/OWASP/www-project-top-10-for-large-language-model-applications/tree/main/2_0_vulns",
	note: "A later edition, of 2026, has other numbers.",
	items: []item{
		{
			"LLM01:2025", "Prompt Injection",
			[]controlID{cFlow, cApproval, cPolicy},
			"Injected text cannot choose a destination, and rules bound what an agent that believes it can do.",
			"Injected text is not detected and still reaches the model.",
		},
		{
			"LLM02:2025", "Sensitive Information Disclosure",
			[]controlID{cFlow, cRedact},
			"A destination from untrusted text is refused and one that nobody vouched for is asked about; the log holds no secrets that can be recognised.",
			"Content for a destination that is allowed is not classified, and answers to the user are not seen.",
		},
		{
			"LLM03:2025", "Supply Chain",
			[]controlID{cPins},
			"A server's tool definitions are pinned.",
			"The code of servers, models and clients is not looked at.",
		},
		{
			"LLM04:2025", "Data and Model Poisoning", nil,
			"", "Training data and models are out of reach of a gateway.",
		},
		{
			"LLM05:2025", "Improper Output Handling",
			[]controlID{cPolicy, cPaths},
			"What the model puts into a call is checked as untrusted before a server gets it.",
			"What a client does with the model's text is not seen.",
		},
		{
			"LLM06:2025", "Excessive Agency",
			[]controlID{cPolicy, cLimits, cApproval},
			"Tools, arguments and numbers of calls are bounded, and a person is asked.",
			"Agency outside the gateway (shell, browser) is not bounded.",
		},
		{
			"LLM07:2025", "System Prompt Leakage", nil,
			"", "Prompts of the client do not pass the gateway.",
		},
		{
			"LLM08:2025", "Vector and Embedding Weaknesses", nil,
			"", "Retrieval behind a tool is that server's. Its output counts as untrusted like any other.",
		},
		{
			"LLM09:2025", "Misinformation", nil,
			"", "Whether text is true is not judged.",
		},
		{
			"LLM10:2025", "Unbounded Consumption",
			[]controlID{cLimits},
			"Calls are bounded in number and rate.",
			"Tokens and cost of the model are not seen.",
		},
	},
}

// Titles as the project uses them, also in its mappings for other lists.
var owaspAgentic = framework{
	name: "OWASP Top 10 for Agentic Applications", edition: "2026 (December 2025)",
	url: "https://genai.owasp.org/resource/owasp-top-10-for-agentic-applications-for-2026/",
	items: []item{
		{
			"ASI01", "Agent Goal Hijack",
			[]controlID{cFlow, cApproval},
			"A hijacked agent cannot send, share or pay to where the hijacker's text says.",
			"The hijack itself is not noticed; harm that needs no destination is for rules and budgets.",
		},
		{
			"ASI02", "Tool Misuse and Exploitation",
			[]controlID{cPolicy, cPaths, cLimits},
			"Each call is held against rules, write paths, patterns and budgets.",
			"A call within all of them can still be a bad idea.",
		},
		{
			"ASI03", "Identity and Privilege Abuse",
			[]controlID{cCallers, cPolicy},
			"A caller has a token and one policy; upstream secrets stay with the gateway.",
			"What an upstream lets the gateway's own credentials do is not narrowed there.",
		},
		{
			"ASI04", "Agentic Supply Chain Vulnerabilities",
			[]controlID{cPins},
			"A definition that changes is refused until a person has seen the difference.",
			"A server that is bad from the first day, or changes behind the same definition, is not noticed.",
		},
		{
			"ASI05", "Unexpected Code Execution",
			[]controlID{cPolicy, cFlow},
			"Arguments that hold commands or code are read for destinations, and rules can refuse the tool.",
			"Code is not analysed or sandboxed.",
		},
		{
			"ASI06", "Memory & Context Poisoning",
			[]controlID{cFlow},
			"What a tool showed stays untrusted for the session, and nothing that the agent writes is trusted when it is read back.",
			"Memory that the client keeps itself does not pass the gateway, and what was untrusted is forgotten when the session ends.",
		},
		{
			"ASI07", "Insecure Inter-Agent Communication",
			[]controlID{cCallers},
			"Agents that are callers or upstreams of the gateway are told apart.",
			"Messages between agents that do not pass the gateway are not seen.",
		},
		{
			"ASI08", "Cascading Failures",
			[]controlID{cLimits},
			"Budgets and rates slow a chain of calls down.",
			"No plan across agents is known, and nothing stops them all at once.",
		},
		{
			"ASI09", "Human-Agent Trust Exploitation",
			[]controlID{cApproval, cRecord},
			"A question shows the destination and where it was first seen, and not the agent's words for it.",
			"A person can still say yes without reading: see the findings on questions that are always granted.",
		},
		{
			"ASI10", "Rogue Agents",
			[]controlID{cPolicy, cLimits, cRecord},
			"An agent that acts on its own is bounded by the same rules and leaves the same records.",
			"Its intent is not judged, and what it does past the gateway is not seen.",
		},
	},
}
