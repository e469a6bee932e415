// Drives a client that oapi-codegen made, in the same package: <address> <service token>.
package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
)

// report prints whether a call was right, or else what was answered.
func report(operation string, isRight bool, body []byte) {
	if !isRight {
		fmt.Printf("%s: %.300s\n", operation, body)
		os.Exit(1)
	}
	fmt.Printf("%s: ok\n", operation)
}

// must ends the program where nothing was answered, or nothing that the client can read.
func must[T any](value T, err error) T {
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	return value
}

func main() {
	address, serviceToken := os.Args[1], os.Args[2]
	ctx := context.Background()
	client := must(NewClientWithResponses(address))
	withToken := func(_ context.Context, request *http.Request) error {
		request.Header.Set("X-Service-Token", serviceToken)
		return nil
	}
	digest := sha256.Sum256([]byte(rand.Text()))
	hash := hex.EncodeToString(digest[:])

	stamped := must(client.StampInternalWithResponse(ctx, nil, StampRequest{Hash: &hash}, withToken))
	stamp := stamped.JSON201
	// `ContentSha256` is a string and no pointer: the JSON interface stamps nothing but SHA-256 (S15).
	report("stampInternal", stamp != nil && stamp.ContentSha256 == hash && stamp.SealedStorageUrl == nil, stamped.Body)

	verified := must(client.VerifyTokenWithResponse(ctx, stamp.TokenId, nil))
	verdict := verified.JSON200
	report("verifyToken", verdict != nil && verdict.Valid && verdict.ContentSha256 != nil && *verdict.ContentSha256 == hash && verdict.Reason == nil, verified.Body)

	limit := 1
	listed := must(client.ListStampsWithResponse(ctx, &ListStampsParams{Limit: &limit}, withToken))
	list := listed.JSON200
	report("listStamps", list != nil && len(list.Items) == 1 && list.Items[0].TokenId == stamp.TokenId && list.Total > 0, listed.Body)
}
