// Command gateway translates between MongoDB's wire protocol and PostgreSQL with the documentdb extension.
//
// It embeds FerretDB 2, whose own command needs a generated version file that the module does not contain. This mode has no
// authentication, so it must listen only on loopback.
//
//	gateway POSTGRESQL_URL LISTEN_ADDRESS STATE_DIRECTORY
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/FerretDB/FerretDB/v2/ferretdb"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: gateway POSTGRESQL_URL LISTEN_ADDRESS STATE_DIRECTORY")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	telemetry := false
	gateway, err := ferretdb.New(&ferretdb.Config{
		PostgreSQLURL: os.Args[1],
		ListenAddr:    os.Args[2],
		StateDir:      os.Args[3],
		LogLevel:      slog.LevelError,
		LogOutput:     os.Stderr,
		Telemetry:     &telemetry,
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	gateway.Run(ctx)
}
