/**
 * The daemon's parent where no service manager is one: a shell, because it costs a hundredth of a second Node. It starts the
 * daemon, waits, and starts it again after a death that nobody asked for.
 *
 * - 0: asked to stop. 75: another daemon serves. The parent leaves.
 * - A refusal (1 to 63) of a daemon that never came up is the starter's to hear: the parent leaves with the same code.
 * - Later, a refusal that no second try mends (2: settings, 5: a newer store) is the end; the rest counts as a death.
 * - After a death it waits 0, 1, 2, 4 … 60 s. A life of `healthy` seconds starts the count anew; after `most` deaths in a row
 *   it gives up and says so in a file that `pcc doctor` reads.
 *
 * Signals go to the daemon, and whatever it ends with then is the end. One that comes before a number is known (`$!`) is looked
 * for right after it; one that reaches a job before its `exec` is lost (it still has our traps), so it is said once more. A
 * background job of a shell is `exec`ed directly, so `$!` is the daemon itself. Words: history file, verdict file, `healthy`, `most`, `unit` (of the waits), then the command.
 */
export const PARENT_SCRIPT = `history=$1 verdict=$2 healthy=$3 most=$4 unit=$5; shift 5
stopping= child= nap= tried= again= deaths=0
ulimit -c 0
pass() { stopping=$1; [ -n "$nap" ] && kill -9 "$nap"; [ -n "$child" ] && kill -"$1" "$child"; } 2>/dev/null
for signal in HUP INT TERM; do trap "pass $signal" $signal; done
give_up() {
  printf '{"at":%s,"deaths":%s,"code":%s,"why":"%s"}\\n' "$now" "$deaths" "$code" "$1" >"$verdict.new" && mv "$verdict.new" "$verdict"
  exit 1
}
export PCC_PARENT=$$
while [ -z "$stopping" ]; do
  began=$(date +%s); began=\${began:-0}
  "$@" &
  child=$!
  [ -n "$stopping" ] && kill -"$stopping" "$child" 2>/dev/null
  wait "$child"; code=$?
  while [ $code -ne 127 ] && kill -0 "$child" 2>/dev/null; do
    if [ -n "$stopping" ] && [ -z "$again" ]; then again=yes; sleep 1; kill -"$stopping" "$child" 2>/dev/null; fi
    wait "$child"; code=$?
  done
  gone=$child child=
  [ -n "$stopping" ] && exit $code
  case $code in 0) exit 0 ;; 75) exit 75 ;; esac
  if [ -z "$tried" ] && [ $code -lt 64 ]; then exit $code; fi
  tried=yes
  now=$(date +%s); now=\${now:-0}
  ran=$((now - began))
  if [ $ran -ge $healthy ] || [ $ran -lt 0 ]; then deaths=0; fi
  deaths=$((deaths + 1))
  echo "$now $gone $code $ran $deaths" >>"$history"
  case $code in 2|5) give_up refused ;; esac
  if [ $deaths -ge $most ]; then give_up died; fi
  delay=0 n=1
  while [ $n -lt $deaths ]; do
    if [ $delay -eq 0 ]; then delay=1; else delay=$((delay * 2)); fi
    n=$((n + 1))
  done
  if [ $delay -gt 60 ]; then delay=60; fi
  if [ $delay -gt 0 ]; then
    sleep $((delay * unit)) & nap=$!
    [ -n "$stopping" ] && kill -9 $nap 2>/dev/null
    wait $nap; nap=
  fi
done
exit 0`
