package output

// The parts of SARIF 2.1.0 (OASIS, errata 01) that are used; the paragraphs are the specification's.

type sarifLog struct { // §3.13
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct { // §3.14
	Tool        sarifTool         `json:"tool"`
	Invocations []sarifInvocation `json:"invocations"`
	ColumnKind  string            `json:"columnKind"`
	Results     []sarifResult     `json:"results"`
}

type sarifTool struct { // §3.18
	Driver sarifDriver `json:"driver"`
}

type sarifDriver struct { // §3.19
	Name           string      `json:"name"`
	InformationURI string      `json:"informationUri"`
	Version        string      `json:"version,omitempty"`
	Rules          []sarifRule `json:"rules"`
}

type sarifRule struct { // §3.49
	ID               string             `json:"id"`
	ShortDescription sarifText          `json:"shortDescription"`
	FullDescription  *sarifText         `json:"fullDescription,omitempty"`
	Help             *sarifText         `json:"help,omitempty"`
	Default          sarifConfiguration `json:"defaultConfiguration"`
	Properties       sarifProperties    `json:"properties"`
}

type sarifText struct { // §3.11, §3.12
	Text     string `json:"text"`
	Markdown string `json:"markdown,omitempty"`
}

type sarifConfiguration struct { // §3.50
	Level string `json:"level"`
}

type sarifProperties struct { // §3.8; the names are GitHub's
	Tags      []string `json:"tags"`
	Severity  string   `json:"problem.severity"`
	Precision string   `json:"precision"`
}

type sarifInvocation struct { // §3.20
	Successful    bool                `json:"executionSuccessful"`
	Notifications []sarifNotification `json:"toolExecutionNotifications"`
}

type sarifNotification struct { // §3.58
	Level     string          `json:"level"`
	Message   sarifText       `json:"message"`
	Locations []sarifLocation `json:"locations,omitempty"`
}

type sarifResult struct { // §3.27
	RuleID       string             `json:"ruleId"`
	RuleIndex    int                `json:"ruleIndex"`
	Level        string             `json:"level"`
	Message      sarifText          `json:"message"`
	Locations    []sarifLocation    `json:"locations"`
	Related      []sarifLocation    `json:"relatedLocations,omitempty"`
	Fingerprints map[string]string  `json:"partialFingerprints"`
	Suppressions []sarifSuppression `json:"suppressions"`
}

type sarifLocation struct { // §3.28
	ID       int            `json:"id,omitempty"`
	Physical *sarifPhysical `json:"physicalLocation,omitempty"`
	Logical  []sarifLogical `json:"logicalLocations,omitempty"`
	Message  *sarifText     `json:"message,omitempty"`
}

type sarifPhysical struct { // §3.29
	Artifact sarifArtifact `json:"artifactLocation"`
	Region   sarifRegion   `json:"region"`
}

type sarifArtifact struct { // §3.4
	URI  string `json:"uri"`
	Base string `json:"uriBaseId"`
}

type sarifRegion struct { // §3.30
	StartLine   int `json:"startLine"`
	StartColumn int `json:"startColumn,omitempty"`
}

type sarifLogical struct { // §3.33
	Name string `json:"fullyQualifiedName"`
	Kind string `json:"kind"`
}

type sarifSuppression struct { // §3.35
	Kind          string `json:"kind"`
	Status        string `json:"status"`
	Justification string `json:"justification"`
}
