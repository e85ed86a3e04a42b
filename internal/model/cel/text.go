package cel

import (
	"errors"
	"fmt"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
)

// The three objects that the name of a commit's status is made of, in Flux's spec.commitStatusExpr.
const (
	Event    = "event"
	Provider = "provider"
	Alert    = "alert"
)

// messageEnvironment is that of an expression over Event, Provider and Alert.
var messageEnvironment = sync.OnceValues(func() (*cel.Env, error) {
	base, err := baseEnvironment()
	if err != nil {
		return nil, err
	}
	kind := cel.MapType(cel.StringType, cel.DynType)
	return base.Extend(cel.Variable(Event, kind), cel.Variable(Provider, kind), cel.Variable(Alert, kind))
})

// CompileText reads an expression over Event, Provider and Alert whose value is a text. One that names something else, or is of another type, is an
// error.
func CompileText(text string) (Expression, error) {
	return remember("text "+text, text, messageEnvironment, func(env *cel.Env) (cel.Program, error) {
		ast, issues := env.Compile(text)
		if issues.Err() != nil {
			return nil, issues.Err()
		}
		if out := ast.OutputType(); !out.IsExactType(cel.StringType) && !out.IsExactType(cel.DynType) {
			return nil, fmt.Errorf("want a text; this is of the type %s", out)
		}
		return programOf(env, ast, nil)
	})
}

// Text evaluates the expression over objects by their names. It changes nothing that it is given.
func (e Expression) Text(values map[string]any) (text string, err error) {
	if e.program == nil {
		return "", errors.New("there is no expression")
	}
	defer func() {
		if cause := recover(); cause != nil {
			text, err = "", fmt.Errorf("the expression cannot be evaluated: %v", cause)
		}
	}()
	out, _, err := e.program.Eval(values)
	if err != nil {
		return "", err
	}
	answer, ok := out.(types.String)
	if !ok {
		return "", fmt.Errorf("the expression is no text, but of the type %s", out.Type().TypeName())
	}
	return string(answer), nil
}
