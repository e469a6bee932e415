#!/usr/bin/env bash
# Recomputes chain and Merkle root of a workflow from the pages of /workflow/{id}/outputs.json, named in their order:
#
#   bash verify-chain.sh outputs-0001.json outputs-0002.json ...
#
# It needs bash and sha256sum, and asks nobody. It prints the root and ends with 0, or says what does not fit and ends with 1.
set -euo pipefail
export LC_ALL=C

fail() { echo "DOES NOT HOLD: $*" >&2; exit 1; }

# SHA-256 of bytes that are given as hexadecimal text; the answer is in $digest.
sha256() {
  local bytes='' i
  for ((i = 0; i < ${#1}; i += 2)); do bytes+="\\x${1:i:2}"; done
  digest=$(printf '%b' "$bytes" | sha256sum)
  digest=${digest%% *}
}

# A member of a JSON object of one line; the answer is in $value.
member() {
  [[ $2 =~ \"$1\":\"?([0-9a-f]+) ]] || fail "there is no $1"
  value=${BASH_REMATCH[1]}
}

(($# > 0)) || fail 'name the pages of outputs.json in their order'
count=0
nodes=()   # the Merkle tree of RFC 9162 so far: the roots of its perfect subtrees, largest first
for page in "$@"; do
  # The part before the first output, and each output, on a line of its own.
  mapfile -t lines < <(tr '{' '\n' < "$page" | grep -v '^$')
  head=$(tr -d '\n' < "$page")
  if ((count == 0)); then member briefing_hash "$head"; chain=$value; fi
  member output_count "$head"; total=$value
  [[ $head =~ \"chain_hash\":\"([0-9a-f]{64}) ]] || fail "$page has no chain_hash"
  last=${BASH_REMATCH[1]}
  root=''
  if [[ $head =~ \"merkle_root\":\"([0-9a-f]{64}) ]]; then root=${BASH_REMATCH[1]}; fi
  for line in "${lines[@]}"; do
    [[ $line == '"sequence_number"'* ]] || continue
    count=$((count + 1))
    member sequence_number "$line"
    [[ $value == "$count" ]] || fail "output $count is missing, or stands in another place"
    member output_hash "$line"; output=$value
    # W8: SHA-256(previous chain hash, output hash, number as 8 bytes)
    printf -v number '%016x' "$count"
    sha256 "$chain$output$number"; chain=$digest
    member chain_hash "$line"
    [[ $value == "$chain" ]] || fail "the chain breaks at output $count"
    # RFC 9162, section 2.1: a leaf is SHA-256(00, output hash), a node SHA-256(01, left, right)
    sha256 "00$output"; node=$digest
    for ((rest = count - 1; rest % 2 == 1; rest /= 2)); do
      sha256 "01${nodes[-1]}$node"; node=$digest
      unset 'nodes[-1]'
    done
    nodes+=("$node")
  done
done
[[ $total == "$count" ]] || fail "$total outputs are recorded, and $count are there"
[[ $last == "$chain" ]] || fail 'the chain ends with another hash than is recorded'
if ((count == 0)); then sha256 ''; else
  digest=${nodes[-1]}
  for ((i = ${#nodes[@]} - 2; i >= 0; i--)); do sha256 "01${nodes[i]}$digest"; done
fi
[[ -z $root || $root == "$digest" ]] || fail 'the Merkle root is another one than is recorded'
echo "$count outputs, chain holds, Merkle root $digest"
