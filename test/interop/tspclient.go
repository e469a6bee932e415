// Drives github.com/notaryproject/tspclient-go: stamp|verify URL ROOT ANSWER; what is stamped is the file of the root certificate.
package main

import (
	"context"
	"crypto"
	"crypto/x509"
	"fmt"
	"os"

	"github.com/notaryproject/tspclient-go"
)

func stamp(url string, content []byte, answer string) error {
	request, err := tspclient.NewRequest(tspclient.RequestOptions{Content: content, HashAlgorithm: crypto.SHA384})
	if err != nil {
		return err
	}
	tsa, err := tspclient.NewHTTPTimestamper(nil, url)
	if err != nil {
		return err
	}
	response, err := tsa.Timestamp(context.Background(), request)
	if err != nil {
		return err
	}
	bytes, err := response.MarshalBinary()
	if err != nil {
		return err
	}
	return os.WriteFile(answer, bytes, 0o600)
}

func verify(content []byte, answer string) error {
	bytes, err := os.ReadFile(answer)
	if err != nil {
		return err
	}
	var response tspclient.Response
	if err := response.UnmarshalBinary(bytes); err != nil {
		return err
	}
	token, err := response.SignedToken()
	if err != nil {
		return err
	}
	info, err := token.Info()
	if err != nil {
		return err
	}
	timestamp, err := info.Validate(content)
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(content)
	_, err = token.Verify(context.Background(), x509.VerifyOptions{Roots: roots, CurrentTime: timestamp.Value})
	return err
}

func main() {
	verb, url, rootFile, answer := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	content, err := os.ReadFile(rootFile)
	if err == nil && verb == "stamp" {
		err = stamp(url, content, answer)
	} else if err == nil {
		err = verify(content, answer)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
