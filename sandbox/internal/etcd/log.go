package etcd

import (
	"io"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// logger writes etcd's warnings and errors. A fatal entry panics with its
// message instead of ending the process: whoever started us is to be told why.
func logger(w io.Writer) *zap.Logger {
	encoder := zapcore.NewConsoleEncoder(zap.NewProductionEncoderConfig())
	core := zapcore.NewCore(encoder, zapcore.Lock(zapcore.AddSync(w)), zapcore.WarnLevel)
	return zap.New(core, zap.WithFatalHook(panicHook{}))
}

type panicHook struct{}

func (panicHook) OnWrite(entry *zapcore.CheckedEntry, fields []zapcore.Field) {
	for _, field := range fields {
		if err, ok := field.Interface.(error); ok {
			panic(entry.Message + ": " + err.Error())
		}
	}
	panic(entry.Message)
}
