package report

// The functions of NIST AI 100-1 (January 2023) with the subcategories that a gateway
// bears on. The words are this project's; the subcategories have no titles of their own.
var nistRMF = framework{
	name: "NIST AI Risk Management Framework", edition: "1.0, NIST AI 100-1 (January 2023)",
	url:  "https://nvlpubs.nist.gov/nistpubs/ai/NIST.AI.100-1.pdf",
	note: "The framework describes what an organisation does; a gateway only gives it means and evidence.",
	items: []item{
		{
			"GOVERN", "1.4, 1.5, 6.1",
			[]controlID{cPolicy, cCallers, cRecord},
			"The policy is a file with a digest, reviewed and tested like code; who may call what is written down.",
			"Roles, training, culture and decisions of people.",
		},
		{
			"MAP", "3.5, 4.2",
			[]controlID{cApproval, cPins},
			"Where a person is asked, and what third-party tools may do, is written down per tool.",
			"Purpose, context and impact of the system.",
		},
		{
			"MEASURE", "2.4, 2.7, 2.8",
			[]controlID{cRecord, cFlow},
			"Behaviour in production is recorded per call, refusals with their cause.",
			"Tests of the model, and harms that are no calls.",
		},
		{
			"MANAGE", "1.4, 2.4, 3.1, 4.1",
			[]controlID{cPolicy, cLimits, cApproval},
			"A tool or a caller can be refused at once by a reload; what is left open stands in this pack.",
			"Plans for incidents, and telling those who are affected.",
		},
	},
}
