import { readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { AppPaths } from '../base/app-paths.ts'
import { isAlive, type ProcessIdentity, startTimeOf } from '../base/process/process-table.ts'

/** Who starts the daemon again when it dies. */
export type Restarter = 'parent' | 'systemd' | 'launchd' | 'nobody'

interface Self {
  pid: number
  ppid: number
  platform: NodeJS.Platform
}

/**
 * Asked for anew each time: a parent that was killed leaves its child to somebody else, and the daemon goes on alone.
 * `INVOCATION_ID` is handed down to everything that a service starts, terminals included, so systemd's word on which process
 * it started itself decides.
 */
export function findRestarter(env: Record<string, string | undefined>, self: Self = process): Restarter {
  if (Number(env['PCC_PARENT']) === self.ppid) return 'parent'
  if (env['NOTIFY_SOCKET'] || Number(env['SYSTEMD_EXEC_PID']) === self.pid) return 'systemd'
  const job = env['XPC_SERVICE_NAME']
  if (self.platform === 'darwin' && self.ppid === 1 && job && job !== '0') return 'launchd'
  return 'nobody'
}

/** What the daemon's exit code says to whoever keeps it running; the parent's script has the same numbers. */
export const EXIT = {
  /** Stopped because it was asked to. */
  clean: 0,
  /** Something went wrong inside it: start it again. */
  failed: 70,
  /** Another daemon serves this data directory: there is nothing to keep running. */
  taken: 75,
} as const

/** Why the parent stopped trying. */
export interface ParentVerdict {
  at: number
  deaths: number
  code: number
  why: 'died' | 'refused'
}

/** One death of a daemon, as its parent wrote it down. */
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
    /** Standard error of the daemon: what Node itself says before it dies. */
    lastWords: join(logs, 'stderr.log'),
  }
}

/** What the parent said when it gave up, until a daemon has ended cleanly since. */
export function readVerdict(paths: AppPaths): ParentVerdict | undefined {
  const found = parsed(parentFiles(paths).verdict) as ParentVerdict | undefined
  return found && { ...found, at: found.at * 1000 }
}

/** The last deaths, oldest first. */
export function readDeaths(paths: AppPaths, most = 20): Death[] {
  const lines = textOf(parentFiles(paths).history)
    .split('\n')
    .slice(-most - 1)
  return lines.flatMap(line => {
    const [at, pid, code, ran] = line.split(' ').map(Number)
    if (!at || !pid || code === undefined || ran === undefined) return []
    return [{ at: at * 1000, pid, code, ranMs: ran * 1000 }]
  })
}

/**
 * Written by the daemon that holds the lock, so that `pcc daemon stop` finds a parent that only waits. Another parent that
 * waits has nobody to start any more: it would bring back what a person has stopped.
 */
export async function recordParent(paths: AppPaths, pid: number | undefined): Promise<void> {
  const { parent, history, lastWords } = parentFiles(paths)
  for (const file of [history, lastWords]) shorten(file)
  const other = await findLivingParent(paths)
  if (other && other.pid !== pid) end(other.pid)
  const startTime = pid === undefined ? undefined : await startTimeOf(pid)
  if (startTime === undefined) rmSync(parent, { force: true })
  else writeFileSync(parent, JSON.stringify({ pid, startTime }), { mode: 0o600 })
}

/** The parent that was last noted, if that very process is still there. */
export async function findLivingParent(paths: AppPaths): Promise<ProcessIdentity | undefined> {
  const found = parsed(parentFiles(paths).parent) as ProcessIdentity | undefined
  return found && (await isAlive(found)) ? found : undefined
}

/** A clean end is the end of the story. */
export function forgetVerdict(paths: AppPaths): void {
  rmSync(parentFiles(paths).verdict, { force: true })
}

function end(pid: number): void {
  try {
    process.kill(pid, 'SIGTERM')
  } catch {
    // gone in this instant
  }
}

function shorten(file: string): void {
  const size = Buffer.byteLength(textOf(file))
  if (size > HISTORY_BYTES) truncateSync(file, 0)
}

function parsed(file: string): unknown {
  try {
    return JSON.parse(textOf(file))
  } catch {
    return undefined // not there, or half written by a machine that went down
  }
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

export interface RestartPolicy {
  /** A life of so many seconds counts as a good one: deaths are counted anew. */
  healthyS: number
  /** Deaths in a row after which it gives up. */
  most: number
  /** Seconds that a wait of 1 takes. */
  unitS: number
}

/** The waits add up to four minutes: what a restart mends is mended by then. */
const RESTART_POLICY: RestartPolicy = { healthyS: 60, most: 10, unitS: 1 }

/** The same command, kept running by the small parent. */
export function wrapInParent(
  command: string[],
  paths: Pick<AppPaths, 'run' | 'logs'>,
  { healthyS, most, unitS }: RestartPolicy = RESTART_POLICY,
): { command: string; args: string[] } {
  const { history, verdict } = parentFiles(paths)
  const words = [history, verdict, String(healthyS), String(most), String(unitS), ...command]
  return { command: '/bin/sh', args: ['-c', PARENT_SCRIPT, 'pcc-parent', ...words] }
}

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
