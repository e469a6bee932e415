#!/bin/sh
# sh ers-root.sh RECORD.ers FILE: the hash that the first token of an evidence record must be for, if the record is that file's (RFC 4998 §4.3)
set -eu; export LC_ALL=C
node=$(sha256sum "$2" | cut -c1-64); list=$node
openssl asn1parse -inform DER -in "$1" | tr A-Z a-z | while read -r line; do case $line in
  *d=6*'octet string'*) [ "${line##*:}" = "$node" ] || list="$list ${line##*:}" ;;
  *d=[45]*sequence*) # A list of the hash tree begins, or the token does: what is before it becomes one hash.
    case $list in *\ *) node=$(printf '%s\n' $list | sort | tr -d '\n' | xxd -r -p | sha256sum | cut -c1-64) ;; esac
    list=$node
    case $line in *d=4*) echo "$node"; break ;; esac ;;
esac; done
