package subscription

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/vm"
	"sigs.k8s.io/yaml"
)

// The bounds of an expression. What it may not contain is what makes more of its input than a multiple: ranges of numbers, variables, functions such as
// repeat and reduce, and more than two predicates, which may be within each other.
const (
	mostConditions    = 20
	longestExpression = 4 << 10
	mostNodes         = 300
	mostPredicates    = 2
)

// condition is one entry of a trigger.
type condition struct {
	When    string   `json:"when"`
	OncePer string   `json:"oncePer"`
	Send    []string `json:"send"`

	when, oncePer *vm.Program
}

func parseConditions(text string) ([]condition, error) {
	var out []condition
	if err := yaml.Unmarshal([]byte(text), &out); err != nil {
		return nil, err
	}
	if len(out) > mostConditions {
		return nil, fmt.Errorf("has more than %d conditions", mostConditions)
	}
	for i := range out {
		var err error
		if out[i].when, err = compile(out[i].When); err != nil {
			return nil, fmt.Errorf("when: %w", err)
		}
		if out[i].OncePer == "" {
			continue
		}
		if out[i].oncePer, err = compile(out[i].OncePer); err != nil {
			return nil, fmt.Errorf("oncePer: %w", err)
		}
	}
	return out, nil
}

func compile(text string) (*vm.Program, error) {
	if len(text) > longestExpression {
		return nil, fmt.Errorf("is longer than %d bytes", longestExpression)
	}
	tree, err := parser.Parse(text)
	if err != nil {
		return nil, err
	}
	g := &guard{}
	ast.Walk(&tree.Node, g)
	switch {
	case g.err != nil:
		return nil, g.err
	case g.nodes > mostNodes:
		return nil, fmt.Errorf("has more than %d parts", mostNodes)
	case g.predicates > mostPredicates:
		return nil, fmt.Errorf("has more than %d predicates", mostPredicates)
	}
	return expr.Compile(text, expr.MaxNodes(mostNodes))
}

// functions are those that make no more of what they are given than there was.
var functions = []string{
	"all", "none", "any", "one", "filter", "map", "find", "findIndex", "findLast", "findLastIndex", "count", "len", "trim", "trimPrefix", "trimSuffix", "upper", "lower", "split",
	"indexOf", "lastIndexOf", "hasPrefix", "hasSuffix", "max", "min", "abs", "ceil", "floor", "round", "int", "float", "string", "keys", "values", "first", "last", "get", "date", "duration", "type",
}

// guard finds what an expression may not contain.
type guard struct {
	nodes, predicates int
	err               error
}

// Visit implements ast.Visitor.
func (g *guard) Visit(node *ast.Node) {
	g.nodes++
	switch n := (*node).(type) {
	case *ast.BinaryNode:
		if n.Operator == ".." {
			g.err = errors.New("ranges of numbers are not evaluated")
		}
	case *ast.VariableDeclaratorNode:
		g.err = errors.New("variables are not evaluated")
	case *ast.BuiltinNode:
		if !slices.Contains(functions, n.Name) {
			g.err = fmt.Errorf("the function %s is not evaluated", n.Name)
		}
	case *ast.PredicateNode:
		g.predicates++
	}
}

// judge reports whether a condition holds, and the value of oncePer. One that cannot be evaluated does not hold: most name what an Application has
// later. The error is that a commit cannot be read, and nothing is known of the condition.
func (c condition) judge(s *Subject) (holds bool, oncePer string, err error) {
	env := s.environment()
	result, err := s.run(c.when, env)
	if holds, _ = result.(bool); err != nil || !holds {
		return false, "", err
	}
	if c.oncePer == nil {
		return true, "", nil
	}
	value, err := s.run(c.oncePer, env)
	if err != nil || value == nil { // not known yet
		return false, "", err
	}
	return true, fmt.Sprint(value), nil
}

// run evaluates an expression. The error is that a commit cannot be read; what fails otherwise is nil.
func (s *Subject) run(program *vm.Program, env map[string]any) (any, error) {
	s.failed = nil
	value, err := expr.Run(program, env)
	if err != nil {
		return nil, s.failed
	}
	return value, nil
}

// environment is what conditions name.
func (s *Subject) environment() map[string]any {
	return map[string]any{
		"app": s.App, "time": timeFunctions(s.Now), "strings": stringFunctions(), "repo": s.repoFunctions(verbatim), "sync": syncFunctions(),
	}
}

func timeFunctions(now time.Time) map[string]any {
	return map[string]any{
		"Now": func() time.Time { return now }, "Parse": parseTime,
		"Nanosecond": time.Nanosecond, "Microsecond": time.Microsecond, "Millisecond": time.Millisecond, "Second": time.Second, "Minute": time.Minute, "Hour": time.Hour,
		"Layout": time.Layout, "ANSIC": time.ANSIC, "UnixDate": time.UnixDate, "RubyDate": time.RubyDate, "RFC822": time.RFC822, "RFC822Z": time.RFC822Z,
		"RFC850": time.RFC850, "RFC1123": time.RFC1123, "RFC1123Z": time.RFC1123Z, "RFC3339": time.RFC3339, "RFC3339Nano": time.RFC3339Nano,
		"Kitchen": time.Kitchen, "Stamp": time.Stamp, "StampMilli": time.StampMilli, "StampMicro": time.StampMicro, "StampNano": time.StampNano,
	}
}

func parseTime(text string) (time.Time, error) { return time.Parse(time.RFC3339, text) }

func stringFunctions() map[string]any {
	return map[string]any{"ReplaceAll": replaceAll, "ToUpper": strings.ToUpper, "ToLower": strings.ToLower}
}

// replaceAll makes no more than about a million bytes.
func replaceAll(text, old, next string) (string, error) {
	if (len(text)+1)*(len(next)+1) > 1<<20 {
		return "", errors.New("ReplaceAll: the texts are too long")
	}
	return strings.ReplaceAll(text, old, next), nil
}
