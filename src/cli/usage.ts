export const usage = `qstamp: trusted timestamps for files

  qstamp stamp FILE...              stamp files; each stamp is saved as FILE.qstamp.json
      --tier basic|plus|sealed      what is kept (default basic); sealed uploads the content, else only the hash leaves
      --metadata NAME=VALUE         stored with the stamp, not signed; may be repeated
      --force                       replace stamps that are there already

  qstamp verify FILE|ID|TOKEN...    verify files by the stamps beside them, stamps by their id, or tokens as text

  qstamp workflow start             start a workflow; its secret token is saved in qstamp-workflow.json
      --email ADDRESS               whose workflow it is: a link to confirm is mailed there
      --agent NAME                  who does the work
      --briefing FILE               what is to be done; only its hash leaves (or --briefing-hash SHA-256)
      --tier standard|verified|qualified
      --metadata NAME=VALUE
  qstamp workflow add FILE...       stamp outputs, in this order; each is saved as FILE.qstamp.json
      --type TYPE                   image, text, audio, video, code, layout or another; else told by the file name
      --metadata NAME=VALUE
      --force                       replace stamps that are there already
  qstamp workflow complete          close it: a Merkle root over all outputs is stamped
      --workflow FILE               of each workflow command: where its token is (default qstamp-workflow.json)

  --json          one line of JSON for each result, on standard output
  --help, --version

Environment
  QSTAMP_URL             address of the service (default http://127.0.0.1:8080)
  QSTAMP_SERVICE_TOKEN   stamps are made for the product of this token; without it as an agent

Exit codes (of several files the smallest that is not 0)
  0  done; everything that was verified is valid
  1  something that was verified is not valid
  2  the command line cannot be understood
  3  the service refused the request
  4  the service cannot be reached, or could not do it now
  5  a local file cannot be read, or would be overwritten
`;
