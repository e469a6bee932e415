/*
 * OpenSSL's own verifier in a loop: for each line on standard input, verifies the answer for so many milliseconds and prints the number
 * of verifications a second. The store, the request and the expectations are prepared once; reading the answer is part of the work.
 *
 *     cc -O2 openssl-verify.c -lcrypto -o openssl-verify && ./openssl-verify answer.tsr query.tsq root.pem
 */
#include <openssl/err.h>
#include <openssl/ts.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static long slurp(const char *path, unsigned char *buffer, size_t size) {
  FILE *file = fopen(path, "rb");
  if (file == NULL) return -1;
  size_t length = fread(buffer, 1, size, file);
  fclose(file);
  return (long)length;
}

static double now_ms(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1e3 + time.tv_nsec / 1e6;
}

int main(int argc, char **argv) {
  static unsigned char answer[65536], query[65536];
  if (argc != 4) return 2;
  long answer_length = slurp(argv[1], answer, sizeof answer);
  long query_length = slurp(argv[2], query, sizeof query);
  const unsigned char *cursor = query;
  TS_REQ *request = query_length < 0 ? NULL : d2i_TS_REQ(NULL, &cursor, query_length);
  X509_STORE *store = X509_STORE_new();
  if (request == NULL || answer_length < 0 || !X509_STORE_load_file(store, argv[3])) return 2;
  TS_VERIFY_CTX *context = TS_REQ_to_TS_VERIFY_CTX(request, NULL);
  TS_VERIFY_CTX_set_store(context, store);
  TS_VERIFY_CTX_add_flags(context, TS_VFY_SIGNATURE);

  char line[64];
  while (fgets(line, sizeof line, stdin) != NULL) {
    double start = now_ms(), elapsed = 0, wanted = atof(line);
    long runs = 0;
    while (elapsed < wanted) {
      for (int i = 0; i < 20; i++) {
        cursor = answer;
        TS_RESP *response = d2i_TS_RESP(NULL, &cursor, answer_length);
        if (response == NULL || !TS_RESP_verify_response(context, response)) {
          ERR_print_errors_fp(stderr);
          return 1;
        }
        TS_RESP_free(response);
      }
      runs += 20;
      elapsed = now_ms() - start;
    }
    printf("%f\n", runs * 1000 / elapsed);
    fflush(stdout);
  }
  return 0;
}
