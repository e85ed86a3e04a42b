package output_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"testing"
)

// shape is what the schema of SARIF 2.1.0 says of one of its objects: every property that may stand in it here, those that must, and
// what their values are. All of its objects refuse other properties (additionalProperties: false).
type shape struct {
	must []string
	may  map[string]check
}

type check func(all shapes, at string, v any) []string

type shapes map[string]shape

func sarifShapes() shapes {
	return shapes{
		"log": {[]string{"version", "runs"}, map[string]check{"$schema": address, "version": word("2.1.0"), "runs": listOf("run", 1)}},
		"run": {[]string{"tool"}, map[string]check{
			"tool": one("tool"), "invocations": listOf("invocation", 0), "columnKind": word("utf16CodeUnits", "unicodeCodePoints"), "results": listOf("result", 0),
		}},
		"tool":   {[]string{"driver"}, map[string]check{"driver": one("driver")}},
		"driver": {[]string{"name"}, map[string]check{"name": text, "informationUri": address, "version": text, "rules": listOf("rule", 0)}},
		"rule": {[]string{"id"}, map[string]check{
			"id": text, "shortDescription": one("message"), "fullDescription": one("message"), "help": one("message"),
			"defaultConfiguration": one("configuration"), "properties": one("properties"),
		}},
		"message":       {[]string{"text"}, map[string]check{"text": text, "markdown": text}},
		"configuration": {nil, map[string]check{"level": levelWord}},
		"properties": {nil, map[string]check{
			"tags": texts, "problem.severity": word("error", "warning", "recommendation"), "precision": word("very-high", "high", "medium", "low"),
		}},
		"invocation":   {[]string{"executionSuccessful"}, map[string]check{"executionSuccessful": truth, "toolExecutionNotifications": listOf("notification", 0)}},
		"notification": {[]string{"message"}, map[string]check{"message": one("message"), "level": levelWord, "locations": listOf("location", 0)}},
		// What GitHub needs beside the schema: a rule, a place, a fingerprint; and suppressions of all results or of none.
		"result": {[]string{"message", "ruleId", "locations", "partialFingerprints", "suppressions"}, map[string]check{
			"ruleId": text, "ruleIndex": number(-1), "level": levelWord, "message": one("message"), "locations": listOf("place", 1),
			"relatedLocations": listOf("location", 0), "partialFingerprints": textMap, "suppressions": listOf("suppression", 0),
		}},
		"place": {[]string{"physicalLocation"}, map[string]check{"physicalLocation": one("physical"), "logicalLocations": listOf("logical", 0)}},
		"location": {nil, map[string]check{
			"id": number(-1), "physicalLocation": one("physical"), "logicalLocations": listOf("logical", 0), "message": one("message"),
		}},
		"physical":    {[]string{"artifactLocation", "region"}, map[string]check{"artifactLocation": one("artifact"), "region": one("region")}},
		"artifact":    {[]string{"uri"}, map[string]check{"uri": relative, "uriBaseId": text}},
		"region":      {[]string{"startLine"}, map[string]check{"startLine": number(1), "startColumn": number(1)}},
		"logical":     {nil, map[string]check{"fullyQualifiedName": text, "kind": text}},
		"suppression": {[]string{"kind"}, map[string]check{"kind": word("inSource", "external"), "status": word("accepted", "underReview", "rejected"), "justification": text}},
	}
}

// mustBeSARIF holds a file against the shapes.
func mustBeSARIF(t *testing.T, data []byte) {
	t.Helper()
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	for _, fault := range sarifShapes().check("log", "", v) {
		t.Errorf("SARIF %s", fault)
	}
}

func (all shapes) check(name, at string, v any) (faults []string) {
	m, ok := v.(map[string]any)
	if !ok {
		return []string{fmt.Sprintf("%s: is a %T, want a %s", at, v, name)}
	}
	s := all[name]
	for _, key := range s.must {
		if _, ok := m[key]; !ok {
			faults = append(faults, fmt.Sprintf("%s: a %s without %s", at, name, key))
		}
	}
	for key, value := range m {
		if s.may[key] == nil {
			faults = append(faults, fmt.Sprintf("%s: a %s has no %s", at, name, key))
			continue
		}
		faults = append(faults, s.may[key](all, at+"/"+key, value)...)
	}
	return faults
}

func one(name string) check {
	return func(all shapes, at string, v any) []string { return all.check(name, at, v) }
}

func listOf(name string, least int) check {
	return func(all shapes, at string, v any) (faults []string) {
		list, ok := v.([]any)
		if !ok || len(list) < least {
			return []string{fmt.Sprintf("%s: want a list of at least %d, got %v", at, least, v)}
		}
		for i, e := range list {
			faults = append(faults, all.check(name, fmt.Sprintf("%s/%d", at, i), e)...)
		}
		return faults
	}
}

func wants(ok bool, at string, v any, what string) []string {
	if ok {
		return nil
	}
	return []string{fmt.Sprintf("%s: %v, want %s", at, v, what)}
}

func word(words ...string) check {
	return func(all shapes, at string, v any) []string {
		s, ok := v.(string)
		return wants(ok && slices.Contains(words, s), at, v, fmt.Sprint(words))
	}
}

var levelWord = word("none", "note", "warning", "error")

func text(_ shapes, at string, v any) []string {
	s, ok := v.(string)
	return wants(ok && s != "", at, v, "a text")
}

func truth(_ shapes, at string, v any) []string {
	_, ok := v.(bool)
	return wants(ok, at, v, "true or false")
}

func address(_ shapes, at string, v any) []string {
	s, _ := v.(string)
	u, err := url.Parse(s)
	return wants(err == nil && u.IsAbs(), at, v, "an absolute URI")
}

func relative(_ shapes, at string, v any) []string {
	s, _ := v.(string)
	u, err := url.Parse(s)
	return wants(err == nil && !u.IsAbs() && s != "" && s[0] != '/', at, v, "a relative URI")
}

func number(least float64) check {
	return func(all shapes, at string, v any) []string {
		n, ok := v.(float64)
		return wants(ok && n >= least && n == float64(int(n)), at, v, fmt.Sprintf("a whole number from %v", least))
	}
}

func texts(all shapes, at string, v any) (faults []string) {
	list, ok := v.([]any)
	faults = wants(ok, at, v, "a list")
	for _, e := range list {
		faults = append(faults, text(all, at, e)...)
	}
	return faults
}

func textMap(all shapes, at string, v any) (faults []string) {
	m, ok := v.(map[string]any)
	faults = wants(ok, at, v, "a map")
	for key, e := range m {
		faults = append(faults, text(all, at+"/"+key, e)...)
	}
	return faults
}
