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
// later.
func (c condition) judge(env map[string]any) (holds bool, oncePer string) {
	result, err := expr.Run(c.when, env)
	if holds, _ = result.(bool); err != nil || !holds {
		return false, ""
	}
	if c.oncePer == nil {
		return true, ""
	}
	value, err := expr.Run(c.oncePer, env)
	if err != nil || value == nil { // not known yet
		return false, ""
	}
	return true, fmt.Sprint(value)
}

// environment is what conditions name.
func environment(app map[string]any, now time.Time) map[string]any {
	return map[string]any{"app": app, "time": timeFunctions(now), "strings": stringFunctions(), "repo": repoFunctions(), "sync": syncFunctions()}
}

func timeFunctions(now time.Time) map[string]any {
	return map[string]any{
		"Now": func() time.Time { return now }, "Parse": parseTime,
		"Nanosecond": time.Nanosecond, "Microsecond": time.Microsecond, "Millisecond": time.Millisecond, "Second": time.Second, "Minute": time.Minute, "Hour": time.Hour,
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
