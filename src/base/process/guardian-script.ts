/**
 * The guardian: a POSIX shell script in a session of its own, outside the agent's tree and without the marker.
 *
 * It reads its standard input, whose other end only the owner holds. The owner writes one line (`<pid> <start>`, the leader
 * it spawned). End of file means that the owner is dead, by whatever cause, or closed the pipe on purpose: then everything
 * is swept. SIGTERM, SIGINT and SIGHUP sweep at once as well, so a guardian never goes and leaves an agent behind.
 *
 * A sweep stops the leader, everything marked and all their descendants, looks again until nobody new is found (a running
 * process could start another between look and kill, and a child with an empty environment is lost once its parent is dead),
 * kills them and starts over until nothing is found. Exit code 0: nothing is left; 1: something survived about ten seconds.
 *
 * Only sh, grep, sed, tr, awk, sort and sleep are used: `ps` is missing on slim images. It is told its
 * marker as `$1` and the brand as `$2` (marker.ts).
 */
export const GUARDIAN_SCRIPT = `
mark=$1 brand=$2 leader= born=

same_leader() {
  [ -n "$born" ] || return 1
  if [ -d /proc/self ]; then
    IFS= read -r line 2>/dev/null <"/proc/$leader/stat" || return 1
    set -- \${line##*) }
    [ "$1" != Z ] && [ "\${20}" = "$born" ]
  else
    set -- $(ps -o lstart= -p "$leader")
    [ "$*" = "$born" ]
  fi
}

marked() {
  if [ -d /proc/self ]; then
    {
      grep -slzxF "$mark" /proc/[0-9]*/environ
      grep -sl "^Max file locks  *$brand " /proc/[0-9]*/limits
    } | sed 's/[^0-9]//g'
  else ps -axEww -o pid=,command= | grep -F " $mark" | awk '{ print $1 }'; fi
}

living() {
  if [ -d /proc/self ]; then grep -s '^State:\\|^PPid:' /proc/[0-9]*/status | tr '/:\\t' '   ' | awk '
    $4 == "State" { dead = $5 == "Z" || $5 == "X" }
    $4 == "PPid" && !dead { print $2, $5 }'
  else ps -axo pid=,ppid=; fi
}

family() {
  roots=$(marked)
  same_leader && roots="$roots $leader"
  [ -n "$roots" ] || return 0
  living | awk -v roots="$(echo $roots)" -v self=$$ '
    $1 != self { up[$1] = $2 }
    END {
      n = split(roots, root, " ")
      for (i = 1; i <= n; i++) if (root[i] in up) found[root[i]]
      do {
        grew = 0
        for (pid in up) if (!(pid in found) && (up[pid] in found)) { found[pid]; grew = 1 }
      } while (grew)
      for (pid in found) print pid
    }' | sort -n
}

sweep() {
  trap '' TERM INT HUP
  round=0
  while [ $round -lt 150 ]; do
    same_leader && kill -STOP "$leader"
    known=$(family)
    [ -n "$known" ] || exit 0
    look=0
    while [ $look -lt 20 ]; do
      kill -STOP $known
      now=$(family)
      [ "$now" = "$known" ] && break
      known=$now look=$((look + 1))
    done
    [ -n "$known" ] && kill -KILL $known
    round=$((round + 1))
    sleep 0.02
  done
  exit 1
}

trap sweep TERM INT HUP
while IFS=' ' read -r pid start; do leader=$pid born=$start; done
sweep
`
