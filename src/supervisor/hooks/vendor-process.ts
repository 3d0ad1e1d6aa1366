import { basename, join } from 'node:path'
import type { AppPaths } from '../../base/app-paths.ts'
import { MarkerFiles, OBSERVED_MARKER } from '../../base/process/marker.ts'
import { commandLineOf, leadsTerminal, parentOf, rawStartTime } from '../../base/process/process-table.ts'

/** A process of a vendor's program, so that it cannot be mistaken for a later one with the same pid. */
export interface VendorProcess {
  pid: number
  /** As the system prints it; it differs after a reboot with next to certainty. */
  startTime: string
}

/** Between a hook and the vendor's program: shells, and our own launcher, which is one. */
const SHELLS = new Set(['sh', 'bash', 'dash', 'zsh', 'fish', 'ash', 'busybox', 'env', 'timeout', 'setsid', 'nice'])
/** What a process is adopted by when its parent ends, and what people's terminals hang on: never a vendor's program. */
const NEVER = /^(systemd|init|launchd|tmux|screen|sshd|login|su|sudo|dbus-daemon|containerd-shim|docker-init|tini)/
/** A hook is a few processes below the vendor's program. */
const MOST_STEPS = 8

/**
 * The vendor's program above a hook: the nearest process that is neither a shell nor `pcc hook` itself. Undefined where the system does
 * not tell, and if there is none.
 */
export function findVendorProcess(from: number): VendorProcess | undefined {
  if (process.platform !== 'linux') return undefined
  for (let at: number | undefined = from, step = 0; at !== undefined && at > 1 && step < MOST_STEPS; step++) {
    const words = commandLineOf(at)
    const name = basename(words[0] ?? '').replace(/^-/, '')
    // Somebody runs a hook by hand: what is above is the person's own.
    if (NEVER.test(name) || (SHELLS.has(name) && leadsTerminal(at))) return undefined
    const isHook = words.includes('hook') && words.includes('--home')
    if (!isHook && !SHELLS.has(name)) return identify(at)
    at = parentOf(at)
  }
  return undefined
}

function identify(pid: number): VendorProcess | undefined {
  const startTime = rawStartTime(pid)
  return startTime === undefined ? undefined : { pid, startTime }
}

/** One that called a hook. */
interface KnownProcess extends VendorProcess {
  /** It carried a mark of ours before its first hook, so that it may be what pcc started: it is told nothing. */
  isDoubted: boolean
}

/** Whether this very process still runs. */
export function isRunning({ pid, startTime }: VendorProcess): boolean {
  return rawStartTime(pid) === startTime
}

/**
 * The processes of vendors that called a hook. They and all that they start never speak for a person. Each is the name of an empty
 * file, so that a hook without a daemon can add one, and the next daemon knows it.
 */
export class VendorProcesses {
  readonly #files: MarkerFiles

  constructor({ run }: Pick<AppPaths, 'run'>) {
    this.#files = new MarkerFiles(join(run, 'vendor-processes'))
  }

  has(found: VendorProcess): boolean {
    return [false, true].some(isDoubted => this.#files.has(nameOf({ ...found, isDoubted })))
  }

  /** The brand is for what it starts and then no longer is the parent of. Imported on use: most hooks find it branded. */
  async add(
    found: VendorProcess,
    env: Record<string, string | undefined>,
    { isDoubted = false }: { isDoubted?: boolean } = {},
  ): Promise<void> {
    if (this.has(found)) return
    this.#files.note(nameOf({ ...found, isDoubted }))
    const { brandProcess } = await import('../../base/process/peer.ts')
    brandProcess(OBSERVED_MARKER, found.pid, env)
  }

  /** Whether one of these processes is one of them. */
  isAmong(chain: readonly number[]): boolean {
    return this.running().some(({ pid }) => chain.includes(pid))
  }

  /** Those that still run; the others are forgotten. */
  running(): KnownProcess[] {
    const all = this.#files.all().flatMap(name => {
      const [, pid = '', startTime = '', doubt] = /^(\d+)-(\d+)(-doubted)?$/.exec(name) ?? []
      return pid === '' ? [] : [{ pid: Number(pid), startTime, isDoubted: doubt !== undefined }]
    })
    for (const gone of all.filter(found => !isRunning(found))) this.#files.forget(nameOf(gone))
    return all.filter(isRunning)
  }
}

function nameOf({ pid, startTime, isDoubted }: KnownProcess): string {
  return `${pid}-${startTime}${isDoubted ? '-doubted' : ''}`
}
