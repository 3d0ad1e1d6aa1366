import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { AppPaths } from '../../../src/base/app-paths.ts'
import { wrapInParent } from '../../../src/daemon/parent-process.ts'
import { PROGRAM_ROOT } from '../../../test/support/program.ts'
import { isThere } from './processes.ts'

/** How late the end of a daemon that is not our child may be noticed. */
const LOOK_MS = 15
/** A parent whose daemon has ended cleanly exits at once. */
const PARENT_LEAVES_MS = 2_000

/** The message of a daemon at its start. */
export type FirstLine = { ready: true; pid: number } | { error: { code: string; message: string } }

export interface Boot {
  pid: number
  at: number
  endedAt?: number
  /** When it reported that it is ready. */
  readyAt?: number
}

export interface KeptOptions {
  paths: AppPaths
  env: Record<string, string>
  /** Whether it runs under the small parent, as the command line starts it. */
  parent: boolean
  /** Which boot of this command dies at the step in its environment; a parent restarts it with the same environment. */
  crashesIn: number
  boots: Boot[]
  /** The checkout whose daemon runs: this one, or a changed copy. */
  source?: string | undefined
  /** Called for each death, whatever the cause. */
  onDeath?(boot: Boot): void
}

/** A started daemon and its parent, if it has one. */
export class KeptDaemon {
  readonly #top: ChildProcess
  readonly #options: KeptOptions
  readonly #heard: FirstLine[] = []
  #ring = Promise.withResolvers<void>()
  #boot: Boot | undefined
  #over = false
  #silent = false

  constructor(options: KeptOptions) {
    this.#options = options
    const { parent, paths, env } = options
    const plain = { command: process.execPath, args: [daemonScript(options)] }
    const { command, args } = parent ? wrapInParent(onceOnly(options), paths) : plain
    this.#top = spawn(command, args, { env, cwd: '/', stdio: ['ignore', 'pipe', 'ignore'] })
    // If the runner is interrupted, its daemons must end with it.
    const leave = () => this.#endAll()
    process.once('exit', leave)
    if (!parent) this.#began(this.#top.pid ?? 0)
    this.#top.once('exit', () => {
      process.off('exit', leave)
      this.#over = true
      this.#look()
    })
    // Not at 'exit': a daemon whose parent was killed during the start still reports that it is ready.
    this.#top.once('close', () => {
      this.#silent = true
      this.#wakeWaiting()
    })
    if (this.#top.stdout) createInterface({ input: this.#top.stdout }).on('line', line => this.#hear(line))
  }

  /** The current daemon. */
  get pid(): number | undefined {
    this.#look()
    return this.#boot?.endedAt === undefined ? this.#boot?.pid : undefined
  }

  get parentPid(): number | undefined {
    return this.#options.parent && !this.#over ? this.#top.pid : undefined
  }

  /** Whether a parent restarts it. */
  get isKept(): boolean {
    return this.parentPid !== undefined
  }

  /** Whether it is being restarted, or is still starting although its parent is gone. */
  get mayComeUp(): boolean {
    return this.isKept || !this.#silent
  }

  /** Its next message; undefined if it and its parent are gone before. */
  async firstLine(signal: AbortSignal): Promise<FirstLine | undefined> {
    const stop = () => this.#wakeWaiting()
    signal.addEventListener('abort', stop, { once: true })
    while (this.#heard.length === 0 && !this.#silent && !signal.aborted) await this.#ring.promise
    signal.removeEventListener('abort', stop)
    return this.#heard.shift()
  }

  /** Sends a signal; with `withParent`, first to the parent that would restart it. Resolves when it is gone. */
  async kill(signal: 'SIGKILL' | 'SIGTERM', { withParent = false } = {}): Promise<void> {
    if (withParent && this.parentPid !== undefined) this.#top.kill('SIGKILL')
    const { pid } = this
    if (pid === undefined) return
    send(pid, signal)
    if (signal === 'SIGTERM') send(pid, 'SIGCONT')
    while (this.#boot?.pid === pid && this.pid !== undefined) await new Promise(resolve => setTimeout(resolve, 5))
  }

  /** Asks the daemon and its parent to stop, because the parent may be about to restart it. */
  async end(): Promise<void> {
    await this.kill('SIGTERM')
    const until = Date.now() + PARENT_LEAVES_MS
    while (this.isKept && Date.now() < until) await new Promise(resolve => setTimeout(resolve, LOOK_MS))
    if (!this.isKept) return
    this.#top.kill('SIGTERM')
    await this.kill('SIGTERM')
  }

  killParent(): boolean {
    return this.parentPid !== undefined && this.#top.kill('SIGKILL')
  }

  #hear(line: string): void {
    const said = JSON.parse(line) as FirstLine
    if ('ready' in said && this.#boot?.pid !== said.pid) this.#began(said.pid)
    if ('ready' in said && this.#boot) this.#boot.readyAt ??= Date.now()
    this.#heard.push(said)
    this.#wakeWaiting()
  }

  /** Wakes all waiters so that they check again. Each ring wakes them once, or they would loop forever. */
  #wakeWaiting(): void {
    this.#ring.resolve()
    this.#ring = Promise.withResolvers()
  }

  #began(pid: number): void {
    this.#look()
    const boot: Boot = { pid, at: Date.now() }
    this.#boot = boot
    this.#options.boots.push(boot)
    const timer = setInterval(() => {
      this.#look()
      if (boot.endedAt !== undefined) clearInterval(timer)
    }, LOOK_MS)
  }

  #look(): void {
    const boot = this.#boot
    const { parent } = this.#options
    if (!boot || boot.endedAt !== undefined || (parent ? isThere(boot.pid) : !this.#over)) return
    boot.endedAt = Date.now()
    this.#options.onDeath?.(boot)
  }

  #endAll(): void {
    this.#top.kill('SIGKILL')
    if (this.#boot && this.#boot.endedAt === undefined) send(this.#boot.pid, 'SIGKILL')
  }
}

/** The parent restarts the same command, and only one of its boots may die at the step. */
function onceOnly(options: KeptOptions): string[] {
  const { crashesIn, paths } = options
  const count = `n=$(cat "$1" 2>/dev/null); n=\${n:-0}; echo $((n + 1)) > "$1"`
  const script = `${count}; [ "$n" = "$2" ] || unset PCC_CRASH_AT; shift 2; exec "$@"`
  return [
    '/bin/sh',
    '-c',
    script,
    'once',
    `${paths.home}.boots`,
    String(crashesIn),
    process.execPath,
    daemonScript(options),
  ]
}

function daemonScript({ source = PROGRAM_ROOT }: KeptOptions): string {
  return join(source, 'test/daemon/run-daemon.ts')
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // it has just ended by itself
  }
}
