#!/bin/sh
# Checks the evidence bundle that this script came in. It asks nobody, and needs nothing but sh, openssl and sha256sum.
#
#   sh verify.sh [--ca FILE] [--all] [FILE...]
#
# --ca FILE  PEM of the certificates that you trust, in place of certificates/anchors.pem. Whoever made this bundle chose
#            those: compare their fingerprints with what the time-stamping authority publishes, or name its certificate here.
# --all      of more than 1000 outputs, check the proof and the own time-stamp of each as well. That may take hours.
# FILE       a file of yours: tells which output it is, or that it is the briefing.
#
# It ends with 0 if everything that was checked holds, else with 1. What was not checked it says.
set -uf
LC_ALL=C
export LC_ALL
nl='
'

clean() { # text -> $clean: what of it a terminal takes for letters, and one blank of many; it may come from whoever made this bundle
  clean='' unclean=$(printf '%.300s' "$1") other='[! -~]'
  while :; do
    case $unclean in *$other*) ;; *) break ;; esac
    letters=${unclean%%$other*}
    clean=$clean$letters? unclean=${unclean#"$letters"?}
  done
  clean=$clean$unclean
  while :; do case $clean in *'  '*) clean="${clean%%  *} ${clean#*  }" ;; *) break ;; esac; done
}

fail() { clean "$*"; printf 'DOES NOT HOLD: %s\n' "$clean"; exit 1; }
usage() { echo 'usage: sh verify.sh [--ca FILE] [--all] [FILE...]'; exit 2; }

case $0 in */*) here=${0%/*} ;; *) here=. ;; esac
# The settings of this machine are not needed, and in an empty place there are none. Settings may name a library to load, so
# openssl is given none but the one text that has this SHA-256.
OPENSSL_CONF=$here/openssl.cnf
export OPENSSL_CONF
[ -r "$OPENSSL_CONF" ] || fail 'there is no openssl.cnf'
settings=$(sha256sum < "$OPENSSL_CONF") || fail 'sha256sum does not work'
[ "${settings%% *}" = a6be571dd0995058cf2c6f2a69f4a0534dd0a7edf194a5216c8c8bb355ec8b80 ] ||
  fail 'openssl.cnf is not the one that belongs to a bundle'

anchors=$here/certificates/anchors.pem own_anchors=no all=no
while [ $# -gt 0 ]; do
  case $1 in
    --ca) [ $# -gt 1 ] || usage; anchors=$2 own_anchors=yes; shift 2 ;;
    --all) all=yes; shift ;;
    --) shift; break ;;
    -?*) usage ;;
    *) break ;;
  esac
done

# ---- Octets: printf writes them from octal escapes, and a table leads there from two hexadecimal digits.

for a in 0 1 2 3 4 5 6 7 8 9 a b c d e f; do
  for b in 0 1 2 3 4 5 6 7 8 9 a b c d e f; do
    v=$((0x$a$b))
    eval "o_$a$b='\\$((v / 64))$((v / 8 % 8))$((v % 8))'"
  done
done

is_hash() { # 64 lower-case hexadecimal digits
  [ ${#1} -eq 64 ] || return 1
  case $1 in *[!0-9a-f]*) return 1 ;; esac
}

octets_of() { # pairs of lower-case hexadecimal digits -> $octets
  case $1 in *[!0-9a-f]*) fail 'a hash has another form' ;; esac # what comes to eval is nothing else
  [ $((${#1} % 2)) -eq 0 ] || fail 'a hash has another form'
  rest=$1 octets=''
  while [ -n "$rest" ]; do
    next=${rest#??}
    eval "octets=\$octets\$o_${rest%"$next"}"
    rest=$next
  done
}

sha256() { # octets -> $digest
  digest=$(printf "$1" | sha256sum) || fail 'sha256sum does not work'
  digest=${digest%% *}
}

sha256_of_file() { # path -> $digest
  digest=$(sha256sum < "$1") || fail "$1 cannot be read"
  digest=${digest%% *}
}

leaf() { # output hash -> $node, as RFC 9162, section 2.1.1 says: SHA-256(00, output hash)
  octets_of "$1"
  sha256 "\\000$octets"
  node=$digest
}

parent() { # left, right -> $node: SHA-256(01, left, right)
  octets_of "$1$2"
  sha256 "\\001$octets"
  node=$digest
}

# ---- The closing record is canonical JSON (RFC 8785), so it has one form only: it is taken apart and put together again.

member() { # name -> $value
  case $json in "\"$1\":"*) json=${json#"\"$1\":"} ;; *) fail "closing-record.json has no $1 where it should be" ;; esac
  case $json in *,*) value=${json%%,*} json=${json#*,} ;; *) value=${json%?} json='' ;; esac
  rebuilt=$rebuilt$comma\"$1\":$value comma=,
  case $value in '"'*'"') value=${value#?} value=${value%?} ;; esac
  case $value in *[!0-9A-Za-z./:-]*) fail "$1 in closing-record.json has another form" ;; esac
}

[ -r "$here/closing-record.json" ] || fail 'there is no closing-record.json'
record=''
IFS= read -r record < "$here/closing-record.json" || : # it has no line end
json=${record#?} rebuilt='{' comma=''
member agent_commitment
member briefing_hash; briefing=$value
member chain_hash; last_chain=$value
member completed_at; completed_at=$value
member confirmed_at; confirmed_at=$value
member created_at; created_at=$value
member email_commitment
member format; [ "$value" = qstamp-closing-record/1 ] || fail 'the closing record is of a format that this script does not know'
member merkle_root; root=$value
member output_count; total=$value
member tier; tier=$value
member workflow_id; workflow=$value
[ -z "$json" ] && [ "$rebuilt}" = "$record" ] || fail 'closing-record.json is not in canonical form'
sha256_of_file "$here/closing-record.json"; record_hash=$digest
sha256 "$record"
[ "$digest" = "$record_hash" ] || fail 'closing-record.json holds more than the closing record'
for hash in "$briefing" "$last_chain" "$root"; do is_hash "$hash" || fail 'closing-record.json holds a hash of another form'; done
case $total in '' | *[!0-9]* | 0?* | ?????????*) fail 'output_count in closing-record.json is no number' ;; esac
echo "Workflow $workflow, tier $tier"
echo "started $created_at, link opened $confirmed_at, completed $completed_at, outputs: $total"

# ---- Every file is the one that SHA256SUMS lists, and none is missing or added.

next_sum() { IFS=' ' read -r sum name <&3 || sum='' name=''; } # -> $sum, $name

listed() { # the next file must be this one
  [ "$name" = "$1" ] || fail "SHA256SUMS should list $1 where it lists ${name:-nothing}"
  [ -r "$here/$1" ] || fail "there is no $1"
  sha256_of_file "$here/$1"
  [ "$digest" = "$sum" ] || fail "$1 is not the file that SHA256SUMS lists"
  next_sum
}

may_be_listed() { # whether the next file is this one -> $is_there
  is_there=no
  [ "$name" = "$1" ] || return 0
  is_there=yes
  listed "$1"
}

blocks_listed() { # folder: a file for each thousand outputs
  block=1
  while [ "$block" -le "$total" ]; do
    listed "$1/$block.txt"
    block=$((block + 1000))
  done
}

[ -r "$here/SHA256SUMS" ] || fail 'there is no SHA256SUMS'
exec 3< "$here/SHA256SUMS"
next_sum
listed README.txt
listed verify.sh
listed openssl.cnf
listed closing-record.json
may_be_listed closing-record.tst; has_record_token=$is_there
may_be_listed closing-record.ers; has_record_evidence=$is_there
listed root.bin; root_preimage=$digest
may_be_listed root.tst; has_root_token=$is_there
may_be_listed root.ers; has_root_evidence=$is_there
listed outputs.txt
blocks_listed proofs
blocks_listed stamps
listed certificates/anchors.pem
listed certificates/others.pem
listed certificates/revocation-lists.pem
[ -z "$sum$name" ] || fail "SHA256SUMS lists $name, which belongs to no bundle"
exec 3<&-
echo 'ok: every file is the one that SHA256SUMS lists'

# ---- Chain and tree, each by itself: both are recomputed from the outputs alone.

check_chain() {
  count=0 chain=$briefing
  octets_of "$chain"
  chain_octets=$octets
  while IFS=' ' read -r number hash chain_hash type stamp; do
    count=$((count + 1))
    [ "$number" = "$count" ] || fail "outputs.txt has $number where output $count should be"
    is_hash "$hash" && is_hash "$chain_hash" || fail "output $count in outputs.txt has another form"
    # SHA-256(chain hash before, output hash, number as 8 octets)
    octets_of "$hash"
    high=$((count / 65536)) middle=$((count / 256 % 256)) low=$((count % 256))
    number_octets="\\000\\000\\000\\000\\$((high / 16384))$((high / 2048 % 8))$((high / 256 % 8))"
    number_octets="$number_octets\\$((high / 64 % 4))$((high / 8 % 8))$((high % 8))"
    number_octets="$number_octets\\$((middle / 64))$((middle / 8 % 8))$((middle % 8))\\$((low / 64))$((low / 8 % 8))$((low % 8))"
    sha256 "$chain_octets$octets$number_octets"
    [ "$digest" = "$chain_hash" ] || fail "the chain breaks at output $count"
    chain=$digest
    octets_of "$chain"
    chain_octets=$octets
  done < "$here/outputs.txt"
  [ "$count" = "$total" ] || fail "the closing record is of $total outputs, and outputs.txt has $count"
  [ "$chain" = "$last_chain" ] || fail 'the chain ends with another hash than the closing record says'
  echo "ok: the outputs are the chain of the closing record, from the briefing to the last"
}

check_root() {
  count=0 stack='' # the roots of the perfect subtrees so far, largest first (RFC 9162, section 2.1.2)
  while IFS=' ' read -r number hash rest_of_line; do
    is_hash "$hash" || fail "output $number in outputs.txt has another form"
    leaf "$hash"
    rest_of_count=$count
    while [ $((rest_of_count % 2)) -eq 1 ]; do
      parent "${stack##* }" "$node"
      stack=${stack% *} rest_of_count=$((rest_of_count / 2))
    done
    stack="$stack $node" count=$((count + 1))
  done < "$here/outputs.txt"
  if [ -z "$stack" ]; then
    sha256 ''
    node=$digest
  else
    node=${stack##* } stack=${stack% *}
    while [ -n "$stack" ]; do
      parent "${stack##* }" "$node"
      stack=${stack% *}
    done
  fi
  [ "$node" = "$root" ] || fail 'the Merkle root of the outputs is another one than the closing record says'
  [ "$root_preimage" = "$root" ] || fail 'the SHA-256 of root.bin is not the Merkle root'
  echo "ok: the outputs lead to the Merkle root $root"
}

# ---- Time-stamps, judged at their own time.

has_certificate() { # path
  while IFS= read -r line; do
    case $line in '-----BEGIN CERTIFICATE-----'*) return 0 ;; esac
  done < "$1"
  return 1
}
untrusted=''
if has_certificate "$here/certificates/others.pem"; then untrusted=$here/certificates/others.pem; fi
[ -r "$anchors" ] || fail "$anchors cannot be read"

check_anchors() { # openssl trusts no other certificates than those that are listed in the end
  is_inside=no together=''
  while IFS= read -r line; do
    together=$together$line$nl
    case $is_inside$line in
      'no-----BEGIN CERTIFICATE-----') is_inside=yes ;;
      'yes-----END CERTIFICATE-----') is_inside=no ;;
      # Anywhere: openssl takes a long line in parts.
      *-----BEGIN*) fail 'certificates/anchors.pem holds a block that is no certificate in plain form' ;;
      no | no'#'*) ;;
      yes | yes*[!0-9A-Za-z+/=]* | no*) fail 'certificates/anchors.pem holds more than certificates and comments' ;;
      *) [ ${#line} -le 76 ] || fail 'certificates/anchors.pem has a line that is too long' ;;
    esac
  done < "$anchors"
  [ "$is_inside" = no ] || fail 'certificates/anchors.pem ends within a certificate'
  # A shell drops zero octets, and the last line where it has no end.
  sum=$(printf '%s' "$together" | sha256sum)
  sha256_of_file "$anchors"
  [ "${sum%% *}" = "$digest" ] || fail 'certificates/anchors.pem is no text whose every line has an end'
}
[ "$own_anchors" = yes ] || check_anchors

reason_in() { # what openssl printed -> $why: its last reason
  why=${1##*:}
  why=${why%%"$nl"*}
}

time_of() { # what openssl prints of a token, what it is called -> $time (2026-11-22T07:10:07Z), $seconds since 1970
  case $1 in *"$nl"'Time stamp: '*) ;; *) fail "$2 is no time-stamp token" ;; esac
  line=${1#*"$nl"'Time stamp: '}
  line=${line%%"$nl"*}
  what=$2
  set -- $line # e.g. Nov 22 07:10:07.5 2026 GMT
  [ $# -eq 5 ] && [ "$5" = GMT ] || fail "the time in $what cannot be read"
  case $1 in
    Jan) m=01 ;; Feb) m=02 ;; Mar) m=03 ;; Apr) m=04 ;; May) m=05 ;; Jun) m=06 ;;
    Jul) m=07 ;; Aug) m=08 ;; Sep) m=09 ;; Oct) m=10 ;; Nov) m=11 ;; *) m=12 ;;
  esac
  d=$2 clock=${3%%.*} y=$4
  case $d in ?) d=0$d ;; esac
  time=$y-$m-${d}T${clock}Z
  h=${clock%%:*} s=${clock##*:} min=${clock#*:} min=${min%:*}
  case $d:$h:$min:$s:$y in [0-9][0-9]:[0-9][0-9]:[0-9][0-9]:[0-9][0-9]:[1-9][0-9][0-9][0-9]) ;; *) fail "the time in $what cannot be read" ;; esac
  m=${m#0} d=${d#0} h=${h#0} min=${min#0} s=${s#0}
  # Days since 1970, counted in years that begin in March.
  if [ "$m" -gt 2 ]; then m=$((m - 3)); else m=$((m + 9)) y=$((y - 1)); fi
  days=$((365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + d - 719469))
  seconds=$((((days * 24 + h) * 60 + min) * 60 + s))
}

# A token is a file, or comes as base64 in $base64, perhaps inside an evidence record: then its place there is in $token_place.
token_source() {
  [ -n "$base64" ] || return 0
  if [ -z "$token_place" ]; then
    printf '%s' "$base64" | openssl base64 -d -A
  else
    printf '%s' "$base64" | openssl base64 -d -A | openssl asn1parse -inform DER -strparse "$token_place" -noout -out -
  fi
}

octets_of_base64() { # $base64 -> $length: of what it is decoded to
  case $base64 in *[!0-9A-Za-z+/=]* | *=[!=]* | *===) length=none; return ;; esac
  length=${base64%%=*} length=$((${#length} * 3 / 4))
  [ $((${#base64} % 4)) -eq 0 ] || length=none
}

# Behind the first element nothing may stand: openssl would not look at it. $1: path, where there is no $base64; $2: where that element
# ends; $3: what it is called
nothing_behind() {
  if [ -n "$base64" ]; then
    octets_of_base64
    [ "$length" = "$2" ] || fail "$3 is followed by other octets"
  else
    sha256_of_file "$1"
    first=$(openssl asn1parse -inform DER -in "$1" -length "$2" -noout -out - 2>&- | sha256sum)
    [ "${first%% *}" = "$digest" ] || fail "$3 is followed by other octets"
  fi
}

judge_token() { # path of the token, the hash that it must be for, what it is called -> $time, $seconds
  text=$(token_source 2>&- | openssl ts -reply -in "$1" -token_in -text 2>&1) || fail "$3 is no time-stamp token"
  time_of "$text" "$3"
  if [ -z "$token_place" ]; then # out of a record comes one element, and nothing more
    evidence=$3
    elements=$(token_source 2>&- | openssl asn1parse -inform DER -in "$1" 2>&-)
    element "${elements%%"$nl"*}" 'time-stamp token'
    nothing_behind "$1" "$end" "$3"
  fi
  if [ -n "$untrusted" ]; then more="-untrusted"; else more=''; fi
  answer=$(token_source 2>&- | openssl ts -verify -in "$1" -token_in -digest "$2" -CAfile "$anchors" ${more:+"$more" "$untrusted"} \
    -partial_chain -attime "$seconds" 2>&1) || { reason_in "$answer"; fail "$3 does not verify: $why"; }
  case $answer in *'Verification: OK'*) ;; *) fail "$3 does not verify" ;; esac
}

# ---- Evidence records (RFC 4998): one token for the root of a hash tree.

comes_before() { # two hashes, compared fifteen digits at a time
  x=$1 y=$2
  while [ -n "$x" ]; do
    case $x in ????????????????*) p=${x%"${x#???????????????}"} q=${y%"${y#???????????????}"} ;; *) p=$x q=$y ;; esac
    x=${x#"$p"} y=${y#"$q"}
    [ "$((0x$p))" -lt "$((0x$q))" ] && return 0
    [ "$((0x$p))" -gt "$((0x$q))" ] && return 1
  done
  return 1
}

hash_list() { # hashes -> $node: their hash in ascending order; one alone stands for itself (RFC 4998, section 4.3)
  [ $# -gt 0 ] || fail "$evidence has an empty list"
  if [ $# -eq 1 ]; then node=$1; return; fi
  sorted=''
  for hash do
    before='' after=''
    for other in $sorted; do
      if [ -z "$after" ] && comes_before "$other" "$hash"; then before="$before $other"; else after="$after $other"; fi
    done
    sorted="$before $hash$after"
  done
  together=''
  for hash in $sorted; do together=$together$hash; done
  octets_of "$together"
  sha256 "$octets"
  node=$digest
}

element() { # a line of asn1parse, what $evidence is to be -> $place, $depth, $after_header, $end, $type and what it holds
  line=$1 form=$2
  set -- $1 # e.g. 31:d=6  hl=2 l=  32 prim: OCTET STRING      [HEX DUMP]:...
  [ $# -ge 5 ] || fail "$evidence is no $form"
  place=${1%%:*} depth=${1#*:d=} header=${2#hl=} length=${3#l=}
  [ "$1 $2 $3" = "$place:d=$depth hl=$header l=$length" ] || fail "$evidence is no $form"
  shift 3
  if [ -z "$length" ]; then length=$1; shift; fi
  for number in "$place" "$depth" "$header" "$length"; do
    case $number in '' | *[!0-9]* | 0?* | ?????????*) fail "$evidence is no $form" ;; esac
  done
  type=$* after_header=$((place + header)) end=$((place + header + length))
}

# Up to the first token, element by element: each must be one that may stand there, and begin where the one before ends, so that no text
# within an element passes for elements. Nothing is read of what stands behind. $1: what asn1parse prints; $2: the hash; $3: what it is
# called; $4: path, where there is no $base64 -> $node: what the token must be for, $token_place, $has_renewals
read_evidence() {
  evidence=$3 token_place='' lists='' rest=$1$nl where=start next_place=0
  while [ -z "$token_place" ]; do
    element "${rest%%"$nl"*}" 'evidence record'
    rest=${rest#*"$nl"}
    [ "$place" = "$next_place" ] || fail "$evidence is no evidence record"
    case $type in cons:*) next_place=$after_header ;; *) next_place=$end ;; esac
    case $where:$depth:$type in
      start:0:'cons: SEQUENCE') where=record record_end=$end ;;
      record:1:'prim: INTEGER :01') where=version ;;
      version:1:'cons: SEQUENCE') where=algorithms ;;
      algorithms:2:'cons: SEQUENCE' | algorithms:3:'prim: NULL' | algorithm:5:'prim: NULL') ;;
      algorithms:3:'prim: OBJECT :'* | algorithm:5:'prim: OBJECT :'*)
        case ${type#'prim: OBJECT :'} in *[!0-9A-Za-z.-]*) fail "$evidence is no evidence record" ;; esac ;;
      algorithms:1:'cons: SEQUENCE') where=sequence ;;
      sequence:2:'cons: SEQUENCE') where=chain ;;
      chain:3:'cons: SEQUENCE') where=stamp ;;
      stamp:4:'cons: cont [ 0 ]') where=algorithm ;;
      stamp:4:'cons: cont [ 2 ]' | algorithm:4:'cons: cont [ 2 ]') where=tree ;;
      tree:5:'cons: SEQUENCE') lists="$lists$nl" where=list ;;
      list:5:'cons: SEQUENCE') lists="$lists$nl" ;;
      list:6:'prim: OCTET STRING [HEX DUMP]:'*)
        lowercase "${type##*:}"
        is_hash "$hash" || fail "$evidence has a hash of another form"
        lists="$lists $hash" ;;
      stamp:4:'cons: SEQUENCE' | algorithm:4:'cons: SEQUENCE' | list:4:'cons: SEQUENCE') token_place=$place ;;
      *) fail "$evidence has parts that this script does not know" ;;
    esac
  done
  nothing_behind "$4" "$record_end" "$evidence"
  has_renewals=no
  [ "$end" -eq "$record_end" ] || has_renewals=yes
  node=$2
  [ -n "$lists" ] || return 0
  is_first=yes
  while IFS= read -r list; do
    if [ "$is_first" = yes ]; then
      case "$list " in *" $2 "*) ;; *) fail "$evidence is over other hashes" ;; esac
      is_first=no
      hash_list $list
    else
      hash_list "$node" $list
    fi
  done << EOF
${lists#"$nl"}
EOF
}

lowercase() { # hexadecimal digits of asn1parse -> $hash
  from=$1 hash=''
  while [ -n "$from" ]; do
    next=${from#?} digit=${from%"${from#?}"} from=$next
    case $digit in A) digit=a ;; B) digit=b ;; C) digit=c ;; D) digit=d ;; E) digit=e ;; F) digit=f ;; esac
    hash=$hash$digit
  done
}

judge_seal() { # name of the files, the hash, what it is called, whether it is an evidence record -> $time, $seconds
  base64='' token_place='' node=$2 sealed=$1 called=$3
  if [ "$4" = yes ]; then
    read_evidence "$(openssl asn1parse -inform DER -in "$here/$1.ers" 2>&-)" "$2" "$sealed.ers" "$here/$sealed.ers"
    [ "$has_renewals" = no ] || not_checked="$not_checked${nl}NOT CHECKED: the renewals in $sealed.ers: qstamp verify does"
    inner=$(openssl asn1parse -inform DER -in "$here/$sealed.ers" -strparse "$token_place" -noout -out - 2>&- | sha256sum)
    sha256_of_file "$here/$sealed.tst"
    [ "${inner%% *}" = "$digest" ] || fail "$sealed.tst is not the token in $sealed.ers"
  fi
  judge_token "$here/$sealed.tst" "$node" "the time-stamp of $called"
  echo "ok: the time-stamp of $called is of $time"
}

not_checked='NOT CHECKED: whether a certificate was revoked: certificates/revocation-lists.pem has the lists that were known'
not_checked="$not_checked${nl}NOT CHECKED: output types and stamp ids in outputs.txt, README.txt and this script: no signature covers them"
is_proved=yes
if [ "$has_root_token$has_record_token" = yesyes ]; then
  judge_seal root "$root" 'the Merkle root' "$has_root_evidence"
  root_seconds=$seconds root_time=$time
  [ "$time" = "${completed_at%.*}Z" ] || fail 'the Merkle root was stamped at another time than the closing record says'
  judge_seal closing-record "$record_hash" 'the closing record' "$has_record_evidence"
  [ "$seconds" -ge "$root_seconds" ] || fail 'the closing record was stamped before the Merkle root'
else
  is_proved=no
fi

# Both at once; what the first one finds goes through the pipe. (A job in the background would need /dev/null.)
exec 6>&1
{ (check_chain >&6) && echo holds; } | { (check_root >&6) && read -r chain_verdict && [ "$chain_verdict" = holds ]; } || exit 1

# ---- Each output by itself: its inclusion proof (RFC 9162, section 2.1.3) and its own time-stamp.

check_path() { # number, output hash, hashes of the path
  index=$(($1 - 1)) last=$((total - 1)) number=$1
  leaf "$2"
  shift 2
  for sibling do
    is_hash "$sibling" || fail "the inclusion proof of output $number has another form"
    [ "$last" -gt 0 ] || fail "the inclusion proof of output $number is too long"
    if [ $((index % 2)) -eq 1 ] || [ "$index" -eq "$last" ]; then
      parent "$sibling" "$node"
      while [ $((index % 2)) -eq 0 ] && [ "$index" -ne 0 ]; do index=$((index / 2)) last=$((last / 2)); done
    else
      parent "$node" "$sibling"
    fi
    index=$((index / 2)) last=$((last / 2))
  done
  [ "$last" -eq 0 ] || fail "the inclusion proof of output $number is too short"
  [ "$node" = "$root" ] || fail "the inclusion proof of output $number does not lead to the Merkle root"
}

unstamped=0 open_block=''
check_output() { # number, output hash -> $own_time; call it with rising numbers
  block=$((($1 - 1) / 1000 * 1000 + 1))
  if [ "$block" != "$open_block" ]; then
    exec 4< "$here/proofs/$block.txt" 5< "$here/stamps/$block.txt"
    open_block=$block line_number=$block
  fi
  while :; do
    IFS= read -r proof <&4 && IFS=' ' read -r stamp_number kind base64 <&5 || fail "a line is missing in proofs/$block.txt or stamps/$block.txt"
    [ "$line_number" -ne "$1" ] || break
    line_number=$((line_number + 1))
  done
  line_number=$(($1 + 1))
  [ "$stamp_number" = "$1" ] || fail "stamps/$block.txt has $stamp_number where output $1 should be"
  case $proof in "$1" | "$1 "*) check_path "$1" "$2" ${proof#"$1"} ;; *) fail "proofs/$block.txt has no line for output $1" ;; esac
  own_time='' node=$2 token_place='' own_number=$1 own_hash=$2
  case $kind in
    token | record) ;;
    none) unstamped=$((unstamped + 1)); return ;;
    *) fail "the stamp of output $1 is of a kind that this script does not know" ;;
  esac
  [ "$can_pipe" = yes ] || return 0
  if [ "$kind" = record ]; then
    read_evidence "$(printf '%s' "$base64" | openssl base64 -d -A 2>&- | openssl asn1parse -inform DER 2>&-)" "$2" "the stamp of output $1" ''
  fi
  judge_token /dev/stdin "$node" "the own time-stamp of output $own_number"
  own_time=$time
}

can_pipe=no
if [ -e /dev/stdin ]; then can_pipe=yes; fi
[ "$is_proved" = yes ] || can_pipe=no
wanted=' '
for file do
  [ -r "$file" ] || fail "$file cannot be read"
  sha256_of_file "$file"
  wanted="$wanted$digest "
done
if [ "$total" -le 1000 ]; then all=yes; fi
found=' ' checked=0
if [ "$all" = yes ] || [ $# -gt 0 ]; then
  while IFS=' ' read -r number hash chain_hash type stamp <&3; do
    case $wanted in *" $hash "*) is_wanted=yes ;; *) is_wanted=no ;; esac
    [ "$all$is_wanted" != nono ] || continue
    check_output "$number" "$hash"
    checked=$((checked + 1))
    [ "$is_wanted" = no ] || found="$found$own_hash:$own_number:${own_time:+, stamped by itself at $own_time}$nl "
  done 3< "$here/outputs.txt"
  if [ "$can_pipe" = yes ]; then what='inclusion proofs and own time-stamps'; else what='inclusion proofs'; fi
  echo "ok: $what of outputs, checked: $checked"
fi
[ "$checked" -eq "$total" ] || not_checked="$not_checked${nl}NOT CHECKED: proofs and own time-stamps of $((total - checked)) outputs: --all does, and takes long"
[ "$unstamped" -eq 0 ] || not_checked="$not_checked${nl}NOT CHECKED: own time-stamps of $unstamped outputs: there is none in this bundle"
[ "$can_pipe$is_proved" != noyes ] || not_checked="$not_checked${nl}NOT CHECKED: own time-stamps of outputs: there is no /dev/stdin here"

# ---- What it comes to.

is_all_found=yes
for file do
  sha256_of_file "$file"
  if [ "$digest" = "$briefing" ]; then echo "$file: the briefing: what the agent was asked to do"; fi
  case $found in
    *" $digest:"*)
      of_file=$found
      while :; do
        case $of_file in *" $digest:"*) ;; *) break ;; esac
        of_file=${of_file#*" $digest:"}
        line=${of_file%%"$nl"*}
        echo "$file: output ${line%%:*}${line#*:}"
      done ;;
    *) [ "$digest" = "$briefing" ] || { echo "$file: NO OUTPUT of this workflow has its hash, and it is not the briefing"; is_all_found=no; } ;;
  esac
done
echo "$not_checked"
if [ "$is_proved" = no ]; then
  missing='the Merkle root'
  [ "$has_root_token$has_record_token" = nono ] && missing="$missing and of the closing record"
  [ "$has_root_token" = no ] || missing='the closing record'
  echo "NOT PROVED: chain and root hold, but no time-stamping authority vouches for them: there is no time-stamp of $missing in this bundle"
  exit 1
fi

tell_anchor() { # PEM of a certificate
  told=$(printf '%s' "$1" | openssl x509 -noout -subject -fingerprint -sha256) || fail 'a certificate that is trusted cannot be read'
  for part in "${told%%"$nl"*}" "${told#*"$nl"}"; do
    clean "$part"
    echo "$clean"
  done
}
if [ "$own_anchors" = no ]; then
  echo 'Trusted, because this bundle says so: compare the fingerprints with what the time-stamping authority publishes'
else
  echo 'Trusted, because you say so:'
fi
block='' is_inside=no
while IFS= read -r line; do
  case $line in *'-----BEGIN CERTIFICATE-----'*) block='' is_inside=yes ;; esac
  [ "$is_inside" = no ] || block=$block$line$nl
  case $line in *'-----END CERTIFICATE-----'*) tell_anchor "$block"; is_inside=no ;; esac
done < "$anchors"
[ "$is_all_found" = yes ] || fail 'not every file is an output of this workflow or its briefing'
echo "EVERYTHING THAT WAS CHECKED HOLDS: these $total outputs, in this order, existed at $root_time"
