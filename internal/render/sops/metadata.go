package sops

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/render/keys"
)

// metadataKey is the key of the metadata in a file; flatPrefix that of each of its parts in a file without mappings.
const (
	metadataKey = "sops"
	flatPrefix  = metadataKey + "_"
)

// metadata is what a file says about its own encryption.
type metadata struct {
	mac, modified string // modified is in the form that the MAC is bound to
	groups        [][]keys.Master
	threshold     int // how many groups are needed
	rule          rule
	onlyEncrypted bool // the MAC covers encrypted values only
	all           any
}

func (m *metadata) equal(other *metadata) bool { return reflect.DeepEqual(m.all, other.all) }

func newMetadata(v any) (*metadata, error) {
	fields, ok := v.(map[string]any)
	if !ok {
		return nil, errNoMetadata
	}
	r := fieldReader{fields: fields}
	m := &metadata{mac: r.text("mac"), threshold: r.number("shamir_threshold"), onlyEncrypted: r.truth("mac_only_encrypted"), all: v}
	modified, err := time.Parse(time.RFC3339, r.text("lastmodified"))
	if err != nil {
		return nil, fmt.Errorf("%s.lastmodified: want a time as in 2006-01-02T15:04:05Z", metadataKey)
	}
	m.modified = modified.Format(time.RFC3339)
	if m.rule, err = newRule(r); err != nil {
		return nil, err
	}
	m.groups, err = keyGroups(r)
	return m, errors.Join(err, r.err)
}

var errNoMetadata = fmt.Errorf("%s: want a mapping", metadataKey)

// fieldReader reads fields, which are texts in the formats without types.
type fieldReader struct {
	fields map[string]any
	err    error
}

func (r *fieldReader) text(key string) string {
	switch v := r.fields[key].(type) {
	case nil:
		return ""
	case string:
		return v
	case time.Time:
		return v.Format(time.RFC3339)
	case int, float64, bool:
		return fmt.Sprint(v)
	}
	r.err = fmt.Errorf("%s.%s: want a text", metadataKey, key)
	return ""
}

func (r *fieldReader) number(key string) int {
	text := r.text(key)
	if text == "" {
		return 0
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		r.err = fmt.Errorf("%s.%s: want a number", metadataKey, key)
	}
	return n
}

func (r *fieldReader) truth(key string) bool {
	text := r.text(key)
	b, err := strconv.ParseBool(text)
	if text != "" && err != nil {
		r.err = fmt.Errorf("%s.%s: want true or false", metadataKey, key)
	}
	return b
}

// keyKinds are the lists of a group, and what names a key in each of them.
var keyKinds = []struct {
	kind  keys.Kind
	names []string
}{
	{keys.Age, []string{"recipient"}},
	{keys.PGP, []string{"fp"}},
	{keys.AWS, []string{"arn", "role", "aws_profile"}},
	{keys.GCP, []string{"resource_id"}},
	{keys.Azure, []string{"vault_url", "name", "version"}},
	{keys.Vault, []string{"vault_address", "engine_path", "key_name"}},
	{keys.Huawei, []string{"key_id"}},
}

// keyGroups reads the groups: the keys beside the other metadata are one, and win over the list of groups.
func keyGroups(r fieldReader) ([][]keys.Master, error) {
	one, err := keyGroup(r.fields)
	if err != nil {
		return nil, err
	}
	if len(one) > 0 {
		return [][]keys.Master{one}, nil
	}
	list, _ := r.fields["key_groups"].([]any)
	var out [][]keys.Master
	for _, e := range list {
		fields, _ := e.(map[string]any)
		group, err := keyGroup(fields)
		if err != nil {
			return nil, err
		}
		out = append(out, group)
	}
	if len(out) == 0 || len(out) > maxGroups {
		return nil, fmt.Errorf("%s: want the keys of 1 to %d groups", metadataKey, maxGroups)
	}
	return out, nil
}

// maxGroups is how many parts Shamir's scheme splits a key into at most.
const maxGroups = 255

func keyGroup(fields map[string]any) ([]keys.Master, error) {
	var out []keys.Master
	for _, k := range keyKinds {
		list, _ := fields[string(k.kind)].([]any)
		for _, e := range list {
			entry, ok := e.(map[string]any)
			if !ok {
				return nil, fmt.Errorf("%s.%s: want a list of keys", metadataKey, k.kind)
			}
			r := fieldReader{fields: entry}
			key := keys.Master{Kind: k.kind, Encrypted: r.text("enc"), Fields: map[string]string{}}
			for _, name := range k.names {
				key.Fields[name] = r.text(name)
			}
			key.Context = contextOf(entry["context"])
			if r.err != nil {
				return nil, r.err
			}
			out = append(out, key)
		}
	}
	return out, nil
}

// contextOf is the encryption context of a key of AWS.
func contextOf(v any) map[string]string {
	m, _ := v.(map[string]any)
	var out map[string]string
	for k, e := range m {
		if text, ok := e.(string); ok {
			if out == nil {
				out = map[string]string{}
			}
			out[k] = text
		}
	}
	return out
}

// rule says which values are encrypted.
type rule struct {
	suffix  string
	pattern *regexp.Regexp
	kind    ruleKind
}

type ruleKind string

// The kinds of rules are the names of their fields.
const (
	plainSuffix   ruleKind = "unencrypted_suffix"
	secretSuffix  ruleKind = "encrypted_suffix"
	plainPattern  ruleKind = "unencrypted_regex"
	secretPattern ruleKind = "encrypted_regex"
	plainComment  ruleKind = "unencrypted_comment_regex"
	secretComment ruleKind = "encrypted_comment_regex"
)

// defaultSuffix is that of the keys whose values are plain where a file has no rule.
const defaultSuffix = "_unencrypted"

func newRule(r fieldReader) (rule, error) {
	out := rule{kind: plainSuffix, suffix: defaultSuffix}
	found := 0
	for _, kind := range []ruleKind{plainSuffix, secretSuffix, plainPattern, secretPattern, plainComment, secretComment} {
		text := r.text(string(kind))
		if text == "" {
			continue
		}
		found++
		out = rule{kind: kind}
		if kind == plainSuffix || kind == secretSuffix {
			out.suffix = text
			continue
		}
		var err error
		if out.pattern, err = regexp.Compile(text); err != nil {
			return rule{}, fmt.Errorf("%s.%s: no regular expression", metadataKey, kind)
		}
	}
	if found > 1 {
		return rule{}, fmt.Errorf("%s: want one of the rules which values are encrypted, not %d", metadataKey, found)
	}
	return out, nil
}

// encrypts reports whether a leaf is encrypted. comments are those before it and before all that it is in; isComment says that the leaf
// is the last of them.
func (r rule) encrypts(path []string, comments [][]string, isComment bool) bool {
	switch r.kind {
	case plainSuffix:
		return !slices.ContainsFunc(path, func(key string) bool { return strings.HasSuffix(key, r.suffix) })
	case secretSuffix:
		return slices.ContainsFunc(path, func(key string) bool { return strings.HasSuffix(key, r.suffix) })
	case plainPattern:
		return !slices.ContainsFunc(path, r.pattern.MatchString)
	case secretPattern:
		return slices.ContainsFunc(path, r.pattern.MatchString)
	default:
		return r.byComment(comments, isComment)
	}
}

func (r rule) byComment(comments [][]string, isComment bool) bool {
	found := false
	for n, lines := range comments {
		if r.kind == secretComment && isComment && n == len(comments)-1 {
			lines = lines[:len(lines)-1] // the comment that begins the encryption is plain
		}
		found = found || slices.ContainsFunc(lines, r.pattern.MatchString)
	}
	return found == (r.kind == secretComment)
}
