# A full or failing disk at many points of every command that writes: exit status 1 and one sentence, what stood there before is whole, nothing
# half-written stays. strace makes system calls fail (its man page, "Tampering").
. "$VPD_SOURCE/tests/cli/common"
command -v strace >/dev/null || skip "strace is not installed"
strace -qq -o /dev/null true 2>/dev/null || skip "strace may not trace here"
. "$VPD_SOURCE/tests/cli/tiny_run"
points=${VPD_FAULTS:-3} # of each system call, in each command
calls="pwrite64 write fsync rename"

expect 0 "*" "*" "$VPD" rollout -q "$run" "$data" --steps 2 -o "$folder/rollout.h5"
made=$folder/made
total=0

# injected CALL NUMBER ERRNO COMMAND...: which of a command's threads writes a frame is chance, and strace follows one of them: $folder/trace tells
# whether the call was reached.
injected() {
  local call=$1 number=$2 error=$3
  shift 3
  strace -qq -o "$folder/trace" -e trace="$call" -e inject="$call:error=$error:when=$number" "$@" >"$folder/stdout" 2>"$folder/stderr"
}

size_of() { [ -f "$1" ] && wc -c <"$1"; }

# faults NAME COMMAND... which writes $made
faults() {
  local name=$1 call count number step error status left whole
  shift
  set -- "$@" --force # what stands at $made is text
  rm -rf "$made" "$made".*
  "$@" >/dev/null 2>"$folder/stderr" || { fail "$name: $(head -c 300 "$folder/stderr")"; return; }
  whole=$(size_of "$made")
  for call in $calls; do
    strace -qq -o "$folder/trace" -e trace="$call" "$@" >/dev/null 2>&1
    count=$(grep -c "^$call(" "$folder/trace")
    step=$(((count + points - 1) / points))
    for ((number = 1; number <= count; number += step)); do
      error=$([ $((total % 2)) = 0 ] && echo ENOSPC || echo EIO)
      rm -rf "$made" "$made".*
      echo "what stood here before" >"$made"
      injected "$call" "$number" "$error" "$@"
      status=$?
      grep -q "(INJECTED)" "$folder/trace" || { [ $status = 0 ] || fail "$name: exit status $status"; continue; }
      total=$((total + 1))
      [ $status = 1 ] || fail "$name, $call $number of $count, $error: exit status $status: $(head -c 300 "$folder/stderr")"
      # The sentence itself may be what could not be written.
      [ "$(wc -l <"$folder/stderr")" -le 1 ] || fail "$name, $call $number, $error: more than a sentence: $(head -c 400 "$folder/stderr")"
      # The old file, or the whole new one (when what fails comes behind the renaming).
      [ "$(head -c 40 "$made" 2>/dev/null | tr -d '\0')" = "what stood here before" ] || [ "$(size_of "$made")" = "$whole" ] ||
        fail "$name, $call $number, $error: $made is neither the old file nor the new one"
      left=$(cd "$folder" && ls -d "${made##*/}".* 2>/dev/null)
      [ -z "$left" ] || fail "$name, $call $number, $error: left $left"
    done
  done
}

made=$folder/made.h5
faults "data subset" "$VPD" data subset -q "$data" --split train:1 --frames 3 -o "$made"
faults rollout "$VPD" rollout -q "$run" "$data" --steps 2 -o "$made"
faults "export --checkpoint" "$VPD" export -q "$run" --checkpoint "$made"
made=$folder/made.safetensors
faults "export --safetensors" "$VPD" export -q "$run" --safetensors "$made"
faults "eval -o" "$VPD" eval -q "$run" "$data" --starts 3 --steps 2 -o "$made"
echo "$total faults"
[ "$total" -ge 20 ] || fail "only $total faults were planted"
finish
