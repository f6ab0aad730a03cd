#!/usr/bin/env bash
# vpd view: what it serves and to whom. Strangers get nothing: no or wrong token, foreign Host or Origin, other paths, huge and
# slow requests, many connections. An edit that is simulated through it has the bits of vpd edit and vpd rollout.
# SPDX-License-Identifier: Apache-2.0
. "$VPD_SOURCE/tests/cli/common"
. "$VPD_SOURCE/tests/cli/view_client"
data=$VPD_SOURCE/data/mujoco_blocks_sample.h5 model=$VPD_SOURCE/demo/carried.h5 seen=$folder/seen.h5
expect 0 "*" "*" "$VPD" rollout -q "$model" "$data" --steps 2 --threads 1 -o "$seen"
export TMPDIR=$folder/temporary
mkdir "$TMPDIR"
viewers=()
trap 'kill "${viewers[@]}" 2>/dev/null; rm -rf "$folder"' EXIT

# start NAME ARGUMENTS: sets url, port, token, viewer
start() {
  "$VPD" view -q --threads 1 "${@:2}" >"$folder/$1.out" 2>"$folder/$1.err" &
  viewer=$!
  viewers+=("$viewer")
  find_address "$folder/$1.out" "Ctrl-C"
}

start first "$seen"
grep -q "ssh -L $port:127.0.0.1:$port" "$folder/first.out" || fail "no ssh line"

# The token is traded for a cookie.
log_in
grep -qa "HttpOnly; SameSite=Strict" "$folder/answer" || fail "the cookie is not HttpOnly and Strict"
grep -qa "Content-Security-Policy: default-src 'self'" "$folder/answer" || fail "no Content-Security-Policy"
gets 200 "the cookie" "GET /api/facts" "$here" "$cookie"
grep -qa '"simulates":true' "$folder/answer" || fail "it cannot simulate: $(body)"
gets 200 "the script" "GET /viewer.js" "$here" "$cookie"
gets 200 "the scene" "GET /api/scene?id=0" "$here" "$cookie"
gets 200 "the name localhost" "GET /api/facts" "Host: localhost:$port" "$cookie"

# Who may not ask.
gets 401 "no token" "GET /" "$here"
gets 401 "a wrong token" "GET /?token=${token//[0-7]/8}" "$here"
gets 401 "a part of the token" "GET /?token=${token:0:31}" "$here"
gets 401 "a longer token" "GET /?token=${token}0" "$here"
gets 401 "a token elsewhere" "GET /api/facts?token=$token" "$here"
gets 401 "a wrong cookie" "GET /api/facts" "$here" "${cookie%=*}=${token}"
gets 401 "the script without a cookie" "GET /viewer.js" "$here"
gets 403 "a foreign host" "GET /?token=$token" "Host: example.com:$port"
gets 403 "a host that begins like ours" "GET /?token=$token" "Host: 127.0.0.1.example.com"
gets 403 "a foreign origin" "GET /api/facts" "$here" "$cookie" "Origin: http://example.com"
gets 403 "another port's origin" "GET /api/facts" "$here" "$cookie" "Origin: http://127.0.0.1:1"
gets 403 "a request from another site" "GET /api/facts" "$here" "$cookie" "Sec-Fetch-Site: cross-site"
gets 403 "no host" "GET /?token=$token"
post=("POST /api/jobs" "$here" "$cookie" "Content-Type: application/json")
job='{"scene": 0, "step": 1, "steps": 3, "edits": "- throw: {label: object 0, velocity: [0, 0, 2]}\n"}'
gets 403 "a POST without an origin" "${post[@]}" -- "$job"
gets 415 "a form" "POST /api/jobs" "$here" "$cookie" "Origin: http://127.0.0.1:$port" "Content-Type: text/plain" -- "$job"
gets 405 "another method" "DELETE /api/jobs" "$here" "$cookie"

# Who knows the key of an earlier server gets in again (tests/view_again_test.c); others do not.
nonce=0123456789abcdef0123456789abcdef
gets 401 "the key" "GET /api/key" "$here"
gets 200 "a question" "GET /api/again?nonce=$nonce" "$here"
body | grep -qx '{"nonce":"[0-9a-f]\{32\}","proof":"[0-9a-f]\{64\}"}' || fail "the server's proof: $(body)"
proof=$(body | sed 's/.*"proof":"\([0-9a-f]*\)".*/\1/')
for query in "" "?nonce=" "?nonce=${nonce}0" "?nonce=${nonce%f}%0a" "?nonce=${nonce%f}F"; do gets 400 "the question $query" "GET /api/again$query" "$here"; done
again=("POST /api/again" "$here" "Content-Type: application/json")
for bad in "" "{" '{"proof": 3}' '{"proof": ""}' "{\"proof\": \"$proof\"}" "{\"proof\": \"${proof//[0-7]/8}\"}" '{"proof": "'"$nonce$nonce"'"}'; do
  gets 401 "the proof $bad" "${again[@]}" "Origin: http://127.0.0.1:$port" -- "$bad"
done
gets 403 "a proof from another site" "${again[@]}" "Origin: http://example.com" -- "{\"proof\": \"$proof\"}"
gets 403 "a question by another name" "GET /api/again?nonce=$nonce" "Host: example.com:$port"

# Paths and sizes.
for path in /../../etc/passwd /%2e%2e/%2e%2e/etc/passwd //etc/passwd /viewer.js/.. /api /etc/passwd; do
  gets 404 "$path" "GET $path" "$here" "$cookie"
done
for query in "" "?id=" "?id=-1" "?id=1e3" "?id=99999999999999999999"; do gets 400 "scene$query" "GET /api/scene$query" "$here" "$cookie"; done
gets 422 "no such scene" "GET /api/scene?id=7" "$here" "$cookie"
gets 413 "a body that is announced as huge" "POST /api/jobs" "$here" "$cookie" "Origin: http://127.0.0.1:$port" "Content-Length: 4000000000"
request "GET /$(head -c 100000 /dev/zero | tr '\0' a)" "$here" "$cookie"
case $code in 4* | "") ;; *) fail "a line of 100 kB: $code" ;; esac
post+=("Origin: http://127.0.0.1:$port")
for bad in "" "{" "[]" '{"scene": -1}' '{"scene": 1}' '{"steps": 1e9}' '{"steps": 100000000}' '{"edits": 3}' '{"step": 99}' '{"scene": 0, "scene": 0}' \
  '{"edits": "compose: {file: /etc/passwd}"}' '{"edits": "\"com\\x70ose\": {file: /etc/passwd}"}' '{"id": 5, "more": 1}'; do
  gets 422 "the job $bad" "${post[@]}" -- "$bad"
  grep -qa '"error":"' "$folder/answer" || fail "$bad: no reason"
done

# result ID: waits for its end
result() {
  for ((i = 0; i < 100; i++)); do
    gets 200 "the result" "GET /api/result?id=$1&from=999" "$here" "$cookie"
    grep -qa '"working"' "$folder/answer" || break
    sleep 0.1
  done
}
# ask BODY: sets id
ask() {
  gets 200 "a job" "${post[@]}" -- "$1"
  id=$(body | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  result "$id"
}
ask '{"edits": "remove: {label: nothing}"}'
grep -qa '"failed"' "$folder/answer" && grep -qa "nothing" "$folder/answer" || fail "a wrong edit is not named: $(body)"

# The bits of the commands.
ask "$job"
grep -qa '"done","parts":4' "$folder/answer" || fail "the job did not end well: $(body | head -c 300)"
ask '{"id": '"$id"', "more": 2}'
gets 200 "the rollout" "GET /api/rollout.h5?id=$id" "$here" "$cookie"
LC_ALL=C sed '1,/^\r$/d' "$folder/answer" >"$folder/viewed.h5"
expect 0 "*" "*" "$VPD" edit -q "$seen" --step 1 --do "throw: {label: object 0, velocity: [0, 0, 2]}" --threads 1 -o "$folder/edited.h5"
expect 0 "*" "*" "$VPD" rollout -q "$model" "$folder/edited.h5" --steps 5 --threads 1 -o "$folder/commands.h5"
for which in viewed commands; do expect 0 "*" "*" "$VPD" export -q "$folder/$which.h5" --npz "$folder/$which.npz"; done
[ -s "$folder/viewed.npz" ] && cmp "$folder/viewed.npz" "$folder/commands.npz" || fail "the result is not that of vpd edit and vpd rollout"
expect 0 "throw" "" "$VPD" edit "$folder/viewed.h5" --show-history

# Mechanics in place of the model, beside a body that is driven: the same bits again, and warnings are told.
ask '{"step": 1, "steps": 4, "edits": "version: 1\nedits:\n  - drive: {label: object 1, velocity: [0.5, 0, 0], steps: 4}\n  - simulate: {steps: 4, contact: {mu: 0.2}}\n"}'
gets 200 "the rollout" "GET /api/rollout.h5?id=$id" "$here" "$cookie"
LC_ALL=C sed '1,/^\r$/d' "$folder/answer" >"$folder/viewed3.h5"
expect 0 "*" "" "$VPD" edit -q "$seen" --step 1 --do "drive: {label: object 1, velocity: [0.5, 0, 0], steps: 4}" --do "simulate: {steps: 4, contact: {mu: 0.2}}" --threads 1 -o "$folder/edited3.h5"
expect 0 "*" "*" "$VPD" rollout -q "$model" "$folder/edited3.h5" --steps 4 --threads 1 -o "$folder/commands3.h5"
for which in viewed3 commands3; do expect 0 "*" "*" "$VPD" export -q "$folder/$which.h5" --npz "$folder/$which.npz"; done
[ -s "$folder/viewed3.npz" ] && cmp "$folder/viewed3.npz" "$folder/commands3.npz" || fail "mechanics give other bits than vpd edit and vpd rollout"
gets 200 "the result" "GET /api/result?id=$id&from=999" "$here" "$cookie"
body | grep -qa '"warnings":""' || fail "a warning of mechanics on a floor: $(body)"
ask '{"id": '"$id"', "more": 1}'
ask '{"steps": 1, "edits": "- remove: {label: background}\n- simulate: {}\n- simulate: {label: object 0}\n"}'
body | grep -qa '"done".*"warnings":"no floor was found[^"]*\\n1 of the selected bodies is driven[^"]*\\n"' || fail "the warnings of mechanics: $(body)"
for bad in "{contact: {mu: -1}}" "{contact: {mu: 101}}" "{contact: 3}" "{steps: 0}" "{steps: 1.5}" "{gravity: [0, 0]}" "{gravity: [0, 0, 1e9]}" "{label: none}"; do
  ask '{"steps": 1, "edits": "simulate: '"$bad"'"}'
  body | grep -qa '"failed".*"error":"[^"]' || fail "mechanics with $bad: $(body | head -c 300)"
done
ask "$job"
body | grep -qa '"warnings":""' || fail "warnings stay: $(body)"

# Work is ended early: what is there stays, and goes on with the same bits.
stop() { gets 200 "an end" "POST /api/stop" "${post[@]:1}" -- '{"id": '"$1"'}'; }
begin() { # of a long job: sets id
  gets 200 "a long job" "${post[@]}" -- "$1"
  id=$(body | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
}
await_steps() {
  for ((i = 0; i < 100; i++)); do
    gets 200 "the result" "GET /api/result?id=$id&from=999999" "$here" "$cookie"
    body | grep -qa '"parts":[0-9]*[3-9]' && break
  done
}
end_early() { # sets parts
  stop "$id"
  result "$id"
  parts=$(body | sed -n 's/.*"state":"stopped","parts":\([0-9]*\).*/\1/p')
  [ "${parts:-0}" -gt 2 ] && [ "$parts" -lt 10001 ] || fail "a job that was ended: $(body)"
}
begin '{"step": 1, "steps": 10000, "edits": "- throw: {label: object 0, velocity: [0, 0, 2]}\n"}'
await_steps
stop $((id + 1))
gets 200 "the result" "GET /api/result?id=$id&from=999999" "$here" "$cookie"
body | grep -qa '"working"' || fail "the end of another job ends this one: $(body)"
end_early
stop "$id"
ask '{"id": '"$id"', "more": 2}'
body | grep -qa '"done","parts":'$((parts + 2)) || fail "a job that was ended does not go on: $(body)"
gets 200 "the rollout" "GET /api/rollout.h5?id=$id" "$here" "$cookie"
LC_ALL=C sed '1,/^\r$/d' "$folder/answer" >"$folder/stopped.h5"
expect 0 "*" "*" "$VPD" rollout -q "$model" "$folder/edited.h5" --steps $((parts + 1)) --threads 1 -o "$folder/whole.h5"
for which in stopped whole; do expect 0 "*" "*" "$VPD" export -q "$folder/$which.h5" --npz "$folder/$which.npz"; done
[ -s "$folder/stopped.npz" ] && cmp "$folder/stopped.npz" "$folder/whole.npz" || fail "a job that was ended and went on has other bits"
# Mechanics come step by step too.
begin '{"steps": 10000, "edits": "simulate: {steps: 10000}"}'
await_steps
end_early
ask '{"steps": 2, "edits": "simulate: {steps: 4}"}'
ask '{"id": '"$id"', "more": 1}'
gets 200 "the rollout" "GET /api/rollout.h5?id=$id" "$here" "$cookie"
LC_ALL=C sed '1,/^\r$/d' "$folder/answer" >"$folder/viewed5.h5"
expect 0 "*" "*" "$VPD" rollout -q "$model" "$folder/viewed5.h5" --steps 3 --threads 1 -o "$folder/on5.h5"
expect 0 "*" "" "$VPD" edit -q "$seen" --do "simulate: {steps: 4}" --threads 1 -o "$folder/edited5.h5"
expect 0 "*" "*" "$VPD" rollout -q "$model" "$folder/edited5.h5" --steps 6 --threads 1 -o "$folder/commands5.h5"
for which in on5 commands5; do expect 0 "*" "*" "$VPD" export -q "$folder/$which.h5" --npz "$folder/$which.npz"; done
[ -s "$folder/on5.npz" ] && cmp "$folder/on5.npz" "$folder/commands5.npz" || fail "mechanics that are saved on the way go on otherwise than vpd edit and vpd rollout"
begin '{"steps": 1, "edits": "- simulate: {steps: 10000}\n- label: {label: object 0, as: it}\n"}'
stop "$id"
result "$id"
body | grep -qa '"failed".*stopped before the first step' || fail "mechanics before another edit that were ended: $(body)"
for bad in "" "3" '{"id": -1}'; do gets 422 "the end $bad" "POST /api/stop" "${post[@]:1}" -- "$bad"; done
ask "$job"

# A list is tried before it takes the place of another one; nothing changes.
for bad in "" "model: {preset: tiny}" "- drop: {}" "# nothing"; do gets 422 "the list $bad" "POST /api/check" "${post[@]:1}" -- "{\"edits\": \"$bad\"}"; done
gets 200 "a good list" "POST /api/check" "${post[@]:1}" -- '{"step": 1, "edits": "- remove: {label: object 0}"}'
gets 200 "the result" "GET /api/result?id=$id&from=0" "$here" "$cookie"
grep -qa '"seconds":[0-9.e-]*[1-9]' "$folder/answer" || fail "the result does not say how long the model took: $(body | head -c 300)"

# Messages quote what was wrong, cut where it is long, also inside a character: they stay JSON.
many=$(printf 'ä%.0s' {1..60})
for odd in "$many" "a$many"; do
  gets 422 "a list with long words" "POST /api/check" "${post[@]:1}" -- "{\"edits\": \"move: {all: true, by: $odd}\"}"
  body | grep -qa '"error":".*ääää' || fail "long words are not quoted: $(body)"
  ask "{\"edits\": \"move: {all: true, by: $odd}\"}"
  grep -qa '"failed".*ääää' "$folder/answer" || fail "why the job failed is not told: $(body)"
done
ask "$job"

# A picture that the model draws, of the scene and of the result.
camera="focal=60&middle=24&pose=1,0,0,0,0,-0.6,0.8,-2,0,-0.8,-0.6,1.8,0,0,0,1"
for of in scene=0 "result=$id"; do
  gets 200 "a picture of $of" "GET /api/picture?$of&step=1&width=64&height=48&$camera" "$here" "$cookie"
  body | head -c 4 | grep -qa PNG || fail "$of: no PNG"
done
gets 422 "a picture of no scene" "GET /api/picture?scene=7&step=0&width=64&height=48&$camera" "$here" "$cookie"
gets 422 "a step that is not there" "GET /api/picture?scene=0&step=9&width=64&height=48&$camera" "$here" "$cookie"
gets 400 "a picture without middle" "GET /api/picture?scene=0&step=0&width=8&height=8&focal=5&pose=1,0,0,0,0,1,0,0,0,0,1,0,0,0,0,1" "$here" "$cookie"
body | grep -q "step, width, height, focal, middle and pose" || fail "middle is not named: $(body)"
gets 400 "a huge picture" "GET /api/picture?scene=0&step=0&width=10000&height=10000&$camera" "$here" "$cookie"
gets 422 "a picture without width" "GET /api/picture?scene=0&step=0&width=0&height=48&$camera" "$here" "$cookie"
gets 422 "a skewed pose" "GET /api/picture?scene=0&step=0&width=8&height=8&focal=5&middle=4&pose=2,0,0,0,0,1,0,0,0,0,1,0,0,0,0,1" "$here" "$cookie"
gets 400 "a pose that is none" "GET /api/picture?scene=0&step=0&width=8&height=8&focal=5&middle=4&pose=1,2,nan" "$here" "$cookie"

# What was recorded, as long as the data set is there.
gets 200 "a recorded picture" "GET /api/recorded?scene=0&step=2&camera=1" "$here" "$cookie"
gets 422 "a camera that is not there" "GET /api/recorded?scene=0&step=2&camera=9" "$here" "$cookie"
gets 422 "a step that is not there" "GET /api/recorded?scene=0&step=99&camera=0" "$here" "$cookie"
gets 400 "no camera" "GET /api/recorded?scene=0&step=2" "$here" "$cookie"

# What the recording says of the scene.
gets 200 "the truth" "GET /api/truth?id=0" "$here" "$cookie"
gets 422 "the truth of no scene" "GET /api/truth?id=5" "$here" "$cookie"
gets 200 "a PSNR" "GET /api/psnr?scene=0&step=2&camera=1" "$here" "$cookie"
body | grep -q '"psnr":3[0-9]\.' || fail "the PSNR: $(body)"
gets 422 "a PSNR of no step" "GET /api/psnr?scene=0&step=99&camera=1" "$here" "$cookie"
gets 422 "an episode of a rollout" "POST /api/episode" "${post[@]:1}" -- '{"episode": "0", "steps": 2}'

# selects WHERE: how many of the shown particles a selection takes
selects() {
  gets 200 "the selection $1" "POST /api/select" "${post[@]:1}" -- "{\"scene\": 0, \"step\": 1, \"where\": \"$1\"}"
  body | tr -cd '\1' | wc -c
}
[ "$(selects "all: true")" = 8192 ] || fail "all are $(selects "all: true")"
some=$(selects "label: object 0")
half=$(selects "label: object 0, and: [{plane: {point: [0, 0, 0], normal: [1, 0, 0]}}, {plane: {point: [0, 0, 0], normal: [0, 0, 1]}}]")
[ "$some" -gt 50 ] && [ "$half" -lt "$some" ] || fail "$half of $some particles of an object"
# what a list of edits with this selection leaves, of the particles that are drawn
expect 0 "*" "*" "$VPD" edit "$seen" --step 1 --do "keep: {label: object 0}" -o "$folder/kept.h5"
expect 0 "*" "*" "$VPD" rollout -q "$model" "$folder/kept.h5" --steps 1 -o "$folder/again.h5"
grep -q " $some particles" "$folder/stdout" || fail "vpd edit keeps another number than $some: $(cat "$folder/stdout" "$folder/stderr")"
for bad in '{"scene": 0, "where": "fly: 3"}' '{"scene": 9, "where": "all: true"}' '{"where": ""}' '{"result": 99, "where": "all: true"}' \
  '{"where": "all: true, as: a}, {compose: {file: /etc/passwd"}' '{"where": "all: true", "step": 99}' '{"where": 3}' '['; do
  gets 422 "the selection $bad" "POST /api/select" "${post[@]:1}" -- "$bad"
done

# Another file is added only if it is one of those shown, in the page's own words.
ask '{"steps": 0, "edits": "  - compose: {file: \"'"$seen"'\", by: [0, 0, 1]}\n"}'
grep -qa '"done"' "$folder/answer" || fail "the file that is shown cannot be added: $(body | head -c 300)"
cp "$seen" "$folder/other.h5"
for bad in "compose: {file: \"$folder/other.h5\"}" "compose: {file: '$seen'}" "compose: {file: \"$seen\", by: {a: 1}}" "{compose: {file: \"$seen\"}}" \
  "compose: {file: \"$seen\"} # compose: {file: /etc/passwd}" "compose: {file: \"$seen\"}\n  - {\"compose\": {file: /etc/passwd}}" "compose:\n      file: $seen"; do
  gets 422 "the edit $bad" "${post[@]}" -- "{\"edits\": \"  - $(printf '%s' "$bad" | sed 's/"/\\"/g')\"}"
done

# Files that are dropped onto the page: particles of their own that edits name, or nothing at all.
# upload STATUS "why" NAME FILE [TYPE] [HEADER ..]
upload() {
  local wanted=$1 why=$2 name=$3 file=$4 type=${5:-application/octet-stream}
  : >"$folder/answer"
  (
    exec 5<>"/dev/tcp/127.0.0.1/$port" || exit
    printf '%s\r\n' "POST /api/file?name=$name HTTP/1.1" "$here" "$cookie" "Origin: http://127.0.0.1:$port" "Content-Type: $type" \
      "Content-Length: $(stat -c %s "$file")" "Connection: close" "" >&5
    cat "$file" >&5
    timeout 20 cat <&5 >"$folder/answer"
  ) 2>/dev/null
  code=$(head -c 12 "$folder/answer" | cut -d' ' -f2)
  [ "$code" = "$wanted" ] || fail "$why: status ${code:-none}, not $wanted"
}
expect 0 "*" "*" "$VPD" edit -q "$seen" --do "keep: {label: object 0}" -o "$folder/cup.h5"
upload 200 "a dropped file" cup.h5 "$folder/cup.h5"
[ "$(body)" = '{"id":1}' ] || fail "a dropped file: $(body)"
gets 200 "the dropped scene" "GET /api/scene?id=1" "$here" "$cookie"
ask '{"steps": 2, "edits": "version: 1\nedits:\n  - compose: {file: \"cup.h5\", by: [0, 0, 0.5]}\n"}'
gets 200 "the rollout with it" "GET /api/rollout.h5?id=$id" "$here" "$cookie"
LC_ALL=C sed '1,/^\r$/d' "$folder/answer" >"$folder/viewed2.h5"
printf 'version: 1\nedits:\n  - compose: {file: "cup.h5", by: [0, 0, 0.5]}\n' >"$(echo "$TMPDIR"/vpd-view-*)/list.yaml" # the history has the file's folder
expect 0 "*" "*" "$VPD" edit -q "$seen" --script "$TMPDIR"/vpd-view-*/list.yaml --threads 1 -o "$folder/edited2.h5"
rm "$TMPDIR"/vpd-view-*/list.yaml
expect 0 "*" "*" "$VPD" rollout -q "$model" "$folder/edited2.h5" --steps 2 --threads 1 -o "$folder/commands2.h5"
for which in viewed2 commands2; do expect 0 "*" "*" "$VPD" export -q "$folder/$which.h5" --npz "$folder/$which.npz"; done
[ -s "$folder/viewed2.npz" ] && cmp "$folder/viewed2.npz" "$folder/commands2.npz" || fail "a dropped file gives other bits than vpd edit with its list"
upload 422 "the same name again" cup.h5 "$folder/cup.h5"
for bad in ../cup.h5 .h5 a/b.h5 cup.txt "" %2e%2e%2fcup.h5 "$(printf 'a%.0s' {1..200}).h5"; do upload 422 "the name $bad" "$bad" "$folder/cup.h5"; done
head -c 300000 /dev/urandom >"$folder/noise.h5"
upload 422 "noise" noise.h5 "$folder/noise.h5"
head -c 20000 "$folder/cup.h5" >"$folder/half.h5"
upload 422 "half a file" half.h5 "$folder/half.h5"
upload 415 "a form's file" form.h5 "$folder/noise.h5" multipart/form-data
gets 413 "a file that is announced as huge" "POST /api/file?name=huge.h5" "$here" "$cookie" "Origin: http://127.0.0.1:$port" "Content-Type: application/octet-stream" \
  "Content-Length: 300000000"
gets 401 "a file without a cookie" "POST /api/file?name=a.h5" "$here" "Origin: http://127.0.0.1:$port" "Content-Type: application/octet-stream" -- x
gets 403 "a file from another site" "POST /api/file?name=a.h5" "$here" "$cookie" "Origin: http://example.com" "Content-Type: application/octet-stream" -- x
[ "$(ls "$TMPDIR"/vpd-view-*)" = cup.h5 ] || fail "what was refused stays: $(ls "$TMPDIR"/vpd-view-*)"

# A taken port is followed by the next. The rollout's file may go while it is shown.
first=$viewer first_port=$port
start second "$seen" --port "$first_port"
[ "$port" -gt "$first_port" ] || fail "two viewers on port $port"
rm "$seen"
here="Host: 127.0.0.1:$port"
gets 200 "the second one" "GET /?token=$token" "$here"
kill "$viewer"
wait "$viewer" 2>/dev/null
port=$first_port here="Host: 127.0.0.1:$port"
gets 200 "the scene without its file" "GET /api/scene?id=0" "$here" "$cookie"

# Ten hours of looking: a page asks every two seconds. 18,000 requests one behind the other leave memory as it is.
memory() { awk '/VmRSS/ {print $2}' "/proc/$first/status"; }
ask_often() { # 600 requests over one connection
  local path last
  for ((k = 0; k < 600; k++)); do
    path=/api/facts last=keep-alive
    [ $((k % 60)) = 0 ] && path="/api/scene?id=0"
    [ "$k" = 599 ] && last=close
    printf 'GET %s HTTP/1.1\r\n%s\r\n%s\r\n%s\r\n\r\n' "$path" "$here" "$cookie" "Connection: $last"
  done
}
ask_often >"$folder/often"
for ((i = 0; i < 30; i++)); do
  [ "$i" = 10 ] && before=$(memory)
  (
    exec 5<>"/dev/tcp/127.0.0.1/$port" || exit
    cat "$folder/often" >&5 &
    timeout 20 cat <&5 | grep -ao 'HTTP/1.1 200 OK' | wc -l
  ) >"$folder/count" 2>/dev/null
  [ "$(cat "$folder/count")" = 600 ] || { fail "$(cat "$folder/count") answers to 600 requests"; break; }
done
after=$(memory)
[ "$after" -lt $((before + 3000)) ] || fail "12,000 requests: $before kB became $after kB"

# Connections that say nothing are ended, and others are answered again. Memory stays bounded.
before=$(awk '/VmRSS/ {print $2}' "/proc/$first/status")
for ((i = 0; i < 20; i++)); do
  (
    for ((k = 0; k < 50; k++)); do exec {silent}<>"/dev/tcp/127.0.0.1/$port" && printf 'GET / HT' >&"$silent"; done
    exec sleep 60
  ) 2>/dev/null &
  silent_ones+=($!)
done
sleep 1
for ((i = 0; i < 400; i++)); do
  sleep 0.1
  patience=2 request "GET /api/facts" "$here" "$cookie"
  [ "$code" = 200 ] && break
done
kill "${silent_ones[@]}" 2>/dev/null
[ "$code" = 200 ] || fail "no answer after 1,000 silent connections"
echo "answered again at the attempt $i"
after=$(awk '/VmRSS/ {print $2}' "/proc/$first/status")
[ "$after" -lt $((before + 20000)) ] || fail "$before kB became $after kB"

# Another episode of a data set.
cp "$data" "$folder/gone.h5"
start episodes "$model" "$folder/gone.h5" --episode 000017 --steps 1 --port $((first_port + 5))
first_cookie=$cookie
log_in
post=("POST /api/episode" "$here" "$cookie" "Content-Type: application/json" "Origin: http://127.0.0.1:$port")
gets 200 "the facts" "GET /api/facts" "$here" "$cookie"
body | grep -q '"predicts":true,"compares":true,"generation":0' || fail "the facts of an episode: $(body)"
body | grep -q '"episodes":\["000016","000017","000018"\]' || fail "the episodes beside it: $(body)"
gets 200 "another episode" "${post[@]}" -- '{"episode": "000018", "steps": 2}'
gets 200 "its scene" "GET /api/scene?id=0" "$here" "$cookie"
body | grep -qa '"steps":2.*"name":"000018"' || fail "the episode is another: $(body | head -c 300 | tr -cd ' -~')"
for bad in '{"episode": "none", "steps": 2}' '{"episode": "000018", "steps": 100000}' '{"episode": "000018", "start": 9999}' '{"steps": 2}'; do gets 422 "the episode $bad" "${post[@]}" -- "$bad"; done
gets 200 "the facts" "GET /api/facts" "$here" "$cookie"
body | grep -q '"generation":1' || fail "a new episode is a new generation: $(body)"
gets 200 "a recorded picture" "GET /api/recorded?scene=0&step=0&camera=0" "$here" "$cookie"
rm "$folder/gone.h5"
gets 422 "a recorded picture of data that are gone" "GET /api/recorded?scene=0&step=0&camera=0" "$here" "$cookie"
gets 422 "an episode of data that are gone" "${post[@]}" -- '{"episode": "000017", "steps": 2}'
gets 200 "the scene without its data" "GET /api/scene?id=0" "$here" "$cookie"
kill "$viewer"
wait "$viewer" 2>/dev/null

# A folder of checkpoints, as a run has one, is a model.
mkdir "$folder/checkpoints"
cp "$model" "$folder/checkpoints/step_00000001.h5"
echo step_00000001.h5 >"$folder/checkpoints/latest"
# A list is a data set; its files have the same names of episodes.
cp "$data" "$folder/more.h5"
printf '%s\n' "$data" more.h5 >"$folder/list.txt"
start checkpoints "$folder/checkpoints" "$folder/list.txt" --episode 37 --steps 0 --port $((first_port + 5))
log_in
gets 200 "the facts" "GET /api/facts" "$here" "$cookie"
body | grep -q '"episodes":\["more.h5:000016","more.h5:000017","more.h5:000018"\]' || fail "the episodes beside number 37: $(body)"
gets 200 "a recorded picture of the list" "GET /api/recorded?scene=0&step=0&camera=0" "$here" "$cookie"
kill "$viewer"
wait "$viewer" 2>/dev/null
port=$first_port here="Host: 127.0.0.1:$port" cookie=$first_cookie

kill "$first"
wait "$first"
status=$?
[ "$status" = 0 ] || fail "SIGTERM: exit status $status, not 0"
[ -z "$(ls "$TMPDIR")" ] || fail "a viewer that ended leaves $(ls "$TMPDIR")"

# The page stays small.
lines=$(cat "$VPD_SOURCE"/view/web/* | wc -l)
[ "$lines" -lt 3600 ] || fail "view/web has $lines lines"

# Wrong input.
expect 2 "" "nothing to show" "$VPD" view "$model"
expect 2 "" "expected" "$VPD" view "$folder/viewed.h5" --port 0
expect 2 "" "there_is_none" "$VPD" view "$folder/there_is_none.h5"
for flag in "--episode 99" "--start 7" "--steps 3"; do # of an episode that is predicted; a rollout would be shown without them
  for arguments in "$folder/viewed.h5" "$model $folder/viewed.h5" "$folder/viewed.h5 $data"; do
    expect 2 "" "${flag% *}: needs a model and a data set alone (vpd view RUN DATA), found the rollout $folder/viewed.h5" timeout 20 "$VPD" view $arguments $flag
  done
  expect 2 "" "${flag% *}: needs a model and a data set alone (vpd view RUN DATA), found $folder alone" timeout 20 "$VPD" view "$folder" $flag
done
for flag in --raw "--device cpu"; do expect 2 "" "${flag% *}: needs a model and a data set" timeout 20 "$VPD" view "$folder" $flag; done
expect 2 "" "found a text file; a scene is simulated first: vpd sim run SCENE.yaml -o OUT.h5" "$VPD" view "$VPD_SOURCE/scenes/ball.yaml"
echo '{"step": 1}' >"$folder/metrics.jsonl"
expect 2 "" "found a text file; a log is shown by its folder: vpd view FOLDER" "$VPD" view "$folder/metrics.jsonl"
expect 2 "" "a data set alone" "$VPD" view "$data"
expect 2 "" "a data set alone" "$VPD" view "$folder/list.txt"
expect 2 "" "unexpected" "$VPD" view "$folder/viewed.h5" "$model" "$data" "$data"
finish
