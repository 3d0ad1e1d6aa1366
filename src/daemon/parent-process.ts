import { readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { AppPaths } from '../base/app-paths.ts'
import { isAlive, type ProcessIdentity, startTimeOf } from '../base/process/process-table.ts'

/** What starts the daemon again when it dies. */
export type Restarter = 'parent' | 'systemd' | 'launchd' | 'nobody'

interface Self {
  pid: number
  ppid: number
  platform: NodeJS.Platform
}

/**
 * Computed anew each time, because a daemon whose parent was killed gets another parent and goes on alone. `INVOCATION_ID`
 * cannot decide: everything that a service starts inherits it, terminals included. `SYSTEMD_EXEC_PID` names the very process
 * that systemd started.
 */
export function findRestarter(env: Record<string, string | undefined>, self: Self = process): Restarter {
  if (Number(env['PCC_PARENT']) === self.ppid) return 'parent'
  if (env['NOTIFY_SOCKET'] || Number(env['SYSTEMD_EXEC_PID']) === self.pid) return 'systemd'
  const job = env['XPC_SERVICE_NAME']
  if (self.platform === 'darwin' && self.ppid === 1 && job && job !== '0') return 'launchd'
  return 'nobody'
}

/** The daemon's exit codes, for what keeps it running; the parent's script uses the same numbers. */
export const EXIT = {
  /** Stopped because it was asked to. */
  clean: 0,
  /** It stopped because of an internal failure: start it again. */
  failed: 70,
  /** Another daemon serves this data directory: there is nothing to keep running. */
  taken: 75,
} as const

/** Why the parent gave up. */
export interface ParentVerdict {
  at: number
  deaths: number
  code: number
  why: 'died' | 'refused'
}

/** One death of a daemon, as its parent recorded it. */
export interface Death {
  at: number
  pid: number
  code: number
  ranMs: number
}

/** Deaths are few; this many bytes hold a thousand of them. */
const HISTORY_BYTES = 30_000

export function parentFiles({ run, logs }: Pick<AppPaths, 'run' | 'logs'>) {
  return {
    history: join(logs, 'deaths.log'),
    verdict: join(run, 'gave-up.json'),
    parent: join(run, 'parent.json'),
    /** Standard error of the daemon: what Node itself prints before it dies. */
    stderr: join(logs, 'stderr.log'),
  }
}

/** What the parent wrote when it gave up; undefined if it did not, or a daemon has ended cleanly since. */
export function readVerdict(paths: AppPaths): ParentVerdict | undefined {
  const verdict = readJson(parentFiles(paths).verdict) as ParentVerdict | undefined
  return verdict && { ...verdict, at: verdict.at * 1000 }
}

/** The last deaths, oldest first. */
export function readDeaths(paths: AppPaths, most = 20): Death[] {
  const lines = readText(parentFiles(paths).history)
    .split('\n')
    .slice(-most - 1)
  return lines.flatMap(line => {
    const [at, pid, code, ran] = line.split(' ').map(Number)
    if (!at || !pid || code === undefined || ran === undefined) return []
    return [{ at: at * 1000, pid, code, ranMs: ran * 1000 }]
  })
}

/**
 * Records this daemon's parent, so that `pcc daemon stop` finds a parent that is only waiting to restart. Called by the daemon
 * that holds the lock. Any other waiting parent is ended: it would bring back a daemon that a person has stopped.
 */
export async function recordParent(paths: AppPaths, pid: number | undefined): Promise<void> {
  const { parent, history, stderr } = parentFiles(paths)
  for (const file of [history, stderr]) shorten(file)
  const other = await findLivingParent(paths)
  if (other && other.pid !== pid) terminate(other.pid)
  const startTime = pid === undefined ? undefined : await startTimeOf(pid)
  if (startTime === undefined) rmSync(parent, { force: true })
  else writeFileSync(parent, JSON.stringify({ pid, startTime }), { mode: 0o600 })
}

/** The parent that was last recorded, if that very process is still alive. */
export async function findLivingParent(paths: AppPaths): Promise<ProcessIdentity | undefined> {
  const parent = readJson(parentFiles(paths).parent) as ProcessIdentity | undefined
  return parent && (await isAlive(parent)) ? parent : undefined
}

/** Called after a clean end: an earlier verdict no longer matters. */
export function forgetVerdict(paths: AppPaths): void {
  rmSync(parentFiles(paths).verdict, { force: true })
}

function terminate(pid: number): void {
  try {
    process.kill(pid, 'SIGTERM')
  } catch {
    // It has just ended.
  }
}

function shorten(file: string): void {
  const size = Buffer.byteLength(readText(file))
  if (size > HISTORY_BYTES) truncateSync(file, 0)
}

function readJson(file: string): unknown {
  try {
    return JSON.parse(readText(file))
  } catch {
    return undefined // missing, or half written when the machine went down
  }
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

export interface RestartPolicy {
  /** After a life of this many seconds the count of deaths starts anew. */
  healthyS: number
  /** Deaths in a row after which the parent gives up. */
  most: number
  /** The unit of the waits, in seconds. */
  unitS: number
}

/** The waits add up to four minutes: a problem that a restart can solve is solved by then. */
const RESTART_POLICY: RestartPolicy = { healthyS: 60, most: 10, unitS: 1 }

/** Wraps the command in the small parent that keeps it running. */
export function wrapInParent(
  command: string[],
  paths: Pick<AppPaths, 'run' | 'logs'>,
  { healthyS, most, unitS }: RestartPolicy = RESTART_POLICY,
): { command: string; args: string[] } {
  const { history, verdict } = parentFiles(paths)
  const args = [history, verdict, String(healthyS), String(most), String(unitS), ...command]
  return { command: '/bin/sh', args: ['-c', PARENT_SCRIPT, 'pcc-parent', ...args] }
}

/**
 * The daemon's parent on a machine without a service manager. It is a shell, because that costs a hundredth of a second Node
 * process. It starts the daemon, waits, and starts it again after an unexpected death.
 *
 * - Exit code 0 (asked to stop) or 75 (another daemon serves): the parent exits too.
 * - A refusal (1 to 63) of the first start is for the starter to see: the parent exits with the same code.
 * - Later, a refusal that a second try cannot change (2: settings, 5: a newer store) ends the parent; any other counts as a death.
 * - After a death it waits 0, 1, 2, 4 … 60 s. A life of `healthy` seconds starts the count anew; after `most` deaths in a row
 *   it gives up and says so in a file that `pcc doctor` reads.
 *
 * Signals are passed to the daemon, and the parent exits with the code that the daemon then ends with. A signal that arrives
 * before `$!` is known is passed on right after that. A signal that reaches a job before its `exec` is lost (the job still has
 * our traps), so it is sent once more. A shell `exec`s a background job directly, so `$!` is the daemon itself. Arguments:
 * history file, verdict file, `healthy`, `most`, `unit` (of the waits), then the command.
 */
const PARENT_SCRIPT = `history=$1 verdict=$2 healthy=$3 most=$4 unit=$5; shift 5
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
