import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import type { AppPaths } from '../../../src/base/app-paths.ts'
import { type Boot, KeptDaemon } from './kept-daemon.ts'
import { goneAfter, type Outlived, survivorsIn, toleranceMs } from './outliving.ts'

/** The longest start from source on a busy machine; beyond this it hangs. */
const START_MS = 60_000
/** A caller that gives up too early and asks again would start a second session. */
const CALL_MS = 60_000

export interface KeeperOptions {
  /** The folder of the round: every process of a daemon works there, or has it in its environment. */
  folder: string
  paths: AppPaths
  env: Record<string, string>
  /** Additional variables for each boot, by its number; a crash point is for one boot. */
  envOfBoot(boot: number): Record<string, string>
  /** Whether it starts under the small parent, as the command line does without a service manager. */
  parent?: boolean | undefined
  /** The checkout whose daemon runs, if it is not this one. */
  source?: string | undefined
}

/** A daemon that refuses to start on a full disk behaves correctly; it is started again when there is space. */
export function isOfFullDisk(told: string): boolean {
  return /disk is full/.test(told)
}

/** A server error of the daemon. */
export interface ServerError {
  at: number
  asked: string
  status: number
  /** The code and message of the error. */
  code: string
  text: string
}

/** Keeps a daemon alive as the command line does: a caller that finds none starts one. */
export class DaemonKeeper {
  readonly boots: Boot[] = []
  /** Unexpected messages during starts. */
  readonly complaints: string[] = []
  /** Cases in which two daemons ran at once. */
  readonly doubles: string[] = []
  /** How long agents outlived each daemon that died. */
  readonly outlived: Outlived[] = []
  readonly errors: ServerError[] = []
  readonly #options: KeeperOptions
  readonly #all: KeptDaemon[] = []
  readonly #watches: Promise<void>[] = []
  #kept: KeptDaemon | undefined
  #starting: Promise<void> | undefined
  #held = false

  constructor(options: KeeperOptions) {
    this.#options = options
  }

  get pid(): number | undefined {
    return this.#kept?.pid
  }

  get alive(): boolean {
    return this.pid !== undefined
  }

  /** Resolves when a daemon is ready. A daemon that dies during its start is started again, a few times. */
  async up(): Promise<void> {
    if (this.alive || this.#held) return
    this.#starting ??= this.#start().finally(() => {
      this.#starting = undefined
    })
    await this.#starting
  }

  /** Runs work on the files of a dead daemon; no daemon is started meanwhile. */
  async whileDown(work: () => Promise<void> | void): Promise<void> {
    this.#held = true
    try {
      await this.#starting?.catch(() => undefined)
      await this.#kept?.kill('SIGKILL', { withParent: true })
      await work()
    } finally {
      this.#held = false
    }
    await this.up().catch(error => this.#complain(error))
  }

  /** Ends the daemon and waits until it is gone; a parent starts it again unless it was asked to stop. */
  async kill(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    await this.#kept?.kill(signal)
  }

  /** Called at the end of the round. */
  async end(): Promise<void> {
    await this.#kept?.end()
    await this.allGone()
  }

  /** Resolves when no process outlives a dead daemon any more, or after the maximum wait. */
  async allGone(): Promise<void> {
    await Promise.all(this.#watches)
  }

  /** Kills the parent alone, or also the daemon. Returns false if there is no parent. */
  async killParent(both: boolean): Promise<boolean> {
    const killed = this.#kept?.killParent() ?? false
    if (killed && both) await this.#kept?.kill('SIGKILL')
    return killed
  }

  /** Kills the daemon and starts two at once on one data directory: one must win, and the other must say why it exits. */
  async replaceByTwo(): Promise<void> {
    this.#held = true
    try {
      await this.#starting?.catch(() => undefined)
      await this.#kept?.kill('SIGKILL', { withParent: true })
      await this.#startTwo()
    } finally {
      this.#held = false
    }
    await this.up().catch(error => this.#complain(error))
  }

  async call<Body>(method: string, path: string, body?: unknown): Promise<{ status: number; body: Body }> {
    const { socket, tokenFile } = this.#options.paths
    const headers = {
      host: 'pcc',
      authorization: `Bearer ${readFileSync(tokenFile, 'utf8').trim()}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    }
    const signal = AbortSignal.timeout(CALL_MS)
    const asked = request({ socketPath: socket, method, path, headers, agent: false, signal })
    asked.end(body === undefined ? undefined : JSON.stringify(body))
    const [response] = (await once(asked, 'response')) as [IncomingMessage]
    let text = ''
    for await (const chunk of response) text += String(chunk)
    const status = response.statusCode ?? 0
    if (status >= 500) this.errors.push({ at: Date.now(), asked: `${method} ${path}`, status, ...errorIn(text) })
    return { status, body: JSON.parse(text) as Body }
  }

  /** A daemon that cannot start is reported with the round, and does not end the run. */
  #complain(error: unknown): void {
    const told = String(error)
    if (!isOfFullDisk(told)) this.complaints.push(told)
  }

  async #start(): Promise<void> {
    for (let tries = 0; tries < 5; tries++) {
      // A daemon with a parent comes back by itself; if the parent gives up, it is started again here.
      if (!this.#kept?.mayComeUp) this.#kept = this.#spawn()
      const line = await this.#kept.firstLine(AbortSignal.timeout(START_MS))
      if (line && 'ready' in line) return
      if (line) throw new Error(`the daemon does not start: ${line.error.code} ${line.error.message}`)
    }
    throw new Error('the daemon died five times in a row while it started')
  }

  async #startTwo(): Promise<void> {
    const signal = AbortSignal.timeout(START_MS)
    const two = [this.#spawn(), this.#spawn()]
    const lines = await Promise.all(two.map(each => each.firstLine(signal)))
    const ready = two.filter((_, place) => 'ready' in (lines[place] ?? {}))
    // One of them must fail at the lock; any other reason would come too late. A full disk stops both of them there.
    for (const line of lines) {
      if (!line || 'ready' in line || line.error.code === 'daemon_running' || isOfFullDisk(line.error.message)) continue
      this.doubles.push(line.error.message)
    }
    if (ready.length > 1) this.doubles.push('of two daemons started at once both became ready')
    this.#kept = ready[0]
    // A second daemon is a bug; it stays alive for a moment so that its effects show.
    for (const each of ready.slice(1)) setTimeout(() => void each.kill('SIGKILL', { withParent: true }), 3_000).unref()
  }

  /** If two daemons run, nobody can tell whose agents live on, so nothing is measured. */
  #died(boot: Boot): void {
    if (this.#all.some(kept => kept.pid !== undefined)) return
    const diedAt = boot.endedAt ?? Date.now()
    const survivors = survivorsIn(this.#options.folder)
    const allowed = toleranceMs()
    this.#watches.push(goneAfter(survivors, diedAt).then(ms => void this.outlived.push({ ms, toleranceMs: allowed })))
  }

  #spawn(): KeptDaemon {
    const { env, envOfBoot, parent = false, paths, source } = this.#options
    const { boots } = this
    // A parent restarts the daemon with the first environment, so the boots of the command are counted there.
    const crashesIn = parent ? [0, 1].findIndex(boot => 'PCC_CRASH_AT' in envOfBoot(boot)) : 0
    const own = parent ? envOfBoot(Math.max(0, crashesIn)) : envOfBoot(boots.length)
    const onDeath = (boot: Boot) => this.#died(boot)
    const kept = new KeptDaemon({ paths, parent, crashesIn, boots, source, onDeath, env: { ...env, ...own } })
    this.#all.push(kept)
    return kept
  }
}

function errorIn(text: string): { code: string; text: string } {
  try {
    const { error } = JSON.parse(text) as { error?: { code?: string; message?: string } }
    return { code: error?.code ?? '', text: error?.message ?? text }
  } catch {
    return { code: '', text }
  }
}
