import {
  type ChildProcess,
  type ChildProcessByStdio,
  type ChildProcessWithoutNullStreams,
  spawn,
} from 'node:child_process'
import { once } from 'node:events'
import { Socket } from 'node:net'
import type { Writable } from 'node:stream'
import { withWholePath } from '../search-path.ts'
import { findProgram } from './find-program.ts'
import { type Isolation, type IsolationLevel, type Namespace, probeNamespace, wrapInNamespace } from './isolation.ts'
import { brandCommand, brandOf, type Marker } from './marker.ts'
import { rawStartTime } from './process-table.ts'
import { type FoundProcess, sweepMarked } from './sweep.ts'

export interface GuardedCommand {
  command: string
  args: string[]
  /** The whole environment of the child; the marker is added. */
  env: Record<string, string | undefined>
  cwd?: string | undefined
  marker: Marker
}

/** A child whose whole process tree ends when it exits, when `end` is called, or when we die for any reason. */
export interface GuardedChild extends ChildProcessWithoutNullStreams, AsyncDisposable {
  readonly level: IsolationLevel
  readonly marker: Marker
  /** Kills the rest of the tree at once. Resolves when nothing is left, or with the processes that survived for ten seconds. */
  end(): Promise<FoundProcess[]>
}

export interface ProcessGuard {
  level(isolation: Isolation): IsolationLevel
  spawn(command: GuardedCommand, isolation: Isolation): GuardedChild
}

type Guardian = ChildProcessByStdio<Writable, null, null>
type Facts = Pick<GuardedChild, 'marker' | 'level'>

/** Starts guarded children, and caches what this machine allows, because the probe takes some milliseconds. */
export function openGuard(): ProcessGuard {
  const known = new Map<Isolation, Namespace | undefined>()
  const namespaceFor = (isolation: Isolation) => {
    if (!known.has(isolation)) known.set(isolation, probeNamespace(isolation))
    return known.get(isolation)
  }
  return {
    level: isolation => (namespaceFor(isolation) ? 'namespace' : 'marker'),
    spawn: (command, isolation) => spawnUnder(namespaceFor(isolation), command),
  }
}

/** Starts one guarded child. To start several, keep an `openGuard()`. */
export function spawnGuarded({ isolation, ...command }: GuardedCommand & { isolation: Isolation }): GuardedChild {
  return openGuard().spawn(command, isolation)
}

function spawnUnder(allowed: Namespace | undefined, { command, args, env, cwd, marker }: GuardedCommand): GuardedChild {
  // A missing program is started without a wrapper, so that the owner gets the usual 'error' and not a shell's exit code.
  const exists = findProgram(command, env, cwd) !== undefined
  const namespace = exists ? allowed : undefined
  const inner = namespace ? wrapInNamespace(namespace, command, args) : { command, args }
  const start = exists ? brandCommand(marker, inner.command, inner.args) : inner
  const guardian = startGuardian(marker)
  try {
    const options = { cwd, env: { ...withWholePath(env), [marker.name]: marker.value }, detached: true }
    return guard(spawn(start.command, start.args, options), guardian, {
      marker,
      level: namespace ? 'namespace' : 'marker',
    })
  } catch (error) {
    guardian.stdin.end()
    throw error
  }
}

/** The guardian runs in its own session and shares only the pipe with us, whose end it waits for. It does not keep us alive. */
function startGuardian(marker: Marker): Guardian {
  const words = ['pcc-guardian', `${marker.name}=${marker.value}`, brandOf(marker)]
  const guardian = spawn('/bin/sh', ['-c', 'eval "$PCC_GUARDIAN"', ...words], {
    cwd: '/',
    env: {
      PATH: '/usr/local/bin:/usr/bin:/bin',
      LC_ALL: 'C',
      TZ: 'UTC',
      PCC_GUARDIAN: GUARDIAN_SCRIPT,
    },
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  guardian.on('error', () => undefined) // it could not start: 'exit' is treated the same way, and the agent is ended
  guardian.unref()
  if (guardian.stdin instanceof Socket) guardian.stdin.unref()
  guardian.stdin.on('error', () => undefined) // it was killed, which the 'exit' event handles
  return guardian
}

function guard(child: ChildProcessWithoutNullStreams, guardian: Guardian, facts: Facts): GuardedChild {
  const gone = once(guardian, 'exit').catch(() => undefined) // a guardian that could not start counts as gone
  const sweep = async () => {
    guardian.ref()
    guardian.stdin.end()
    await gone
    if (guardian.exitCode === 0) return []
    return (await sweepMarked(facts.marker)).left // the guardian was killed, or found a process that would not die
  }
  let ended: Promise<FoundProcess[]> | undefined
  const end = () => {
    ended ??= sweep()
    return ended
  }
  if (child.pid !== undefined) guardian.stdin.write(`${child.pid} ${rawStartTime(child.pid) ?? ''}\n`)
  child.once('exit', end).once('error', end)
  gone.then(end)
  const kill = facts.level === 'namespace' ? (signal?: NodeJS.Signals | number) => killGroup(child, signal) : child.kill
  return Object.assign(child, { ...facts, kill, end, [Symbol.asyncDispose]: async () => void (await end()) })
}

/** In a namespace our child is only the agent's leader: a signal is meant for the agent, which is in the same group. */
function killGroup(child: ChildProcess, signal: NodeJS.Signals | number = 'SIGTERM'): boolean {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return false
  try {
    process.kill(-child.pid, signal)
  } catch {
    return false
  }
  if (signal !== 0) Object.assign(child, { killed: true })
  return true
}

/**
 * The guardian: a POSIX shell script in a session of its own, outside the agent's tree and without the marker.
 *
 * It reads its standard input, whose other end only the owner holds. The owner writes one line (`<pid> <start>` of the
 * leader it spawned). End of file means that the owner died for any reason, or closed the pipe on purpose; the guardian
 * then sweeps everything. SIGTERM, SIGINT and SIGHUP also sweep at once, so a guardian never exits and leaves an agent behind.
 *
 * A sweep stops the leader, everything marked and all their descendants, and searches again until it finds nothing new (a
 * running process could start another between the search and the kill, and a child with an empty environment is lost once its
 * parent is dead). Then it kills them and starts over until nothing is found. Exit code 0 means that nothing is left, 1 that
 * something survived about ten seconds.
 *
 * It uses only sh, grep, sed, tr, awk, sort and sleep on Linux, because slim images have no `ps`. `$1` is the marker and
 * `$2` the brand (marker.ts).
 */
const GUARDIAN_SCRIPT = `
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
